import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

export interface BuildCacheTable {
  key: string;
  parent: string | null;
  description: string;
  snapshot_id: string | null;
  image: string | null;
  image_bytes: number | null;
  /** JSON text. */
  config: string;
  created_at: number;
  last_used_at: number;
}

export const buildCache: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('build_cache')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('parent', 'text')
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('snapshot_id', 'text')
      .addColumn('image', 'text')
      .addColumn('image_bytes', 'bigint')
      .addColumn('env', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('build_cache_by_parent').on('build_cache').column('parent').execute();
  },
};

/** What was kept before lacks the user, folder and command of its image, and its keys are those of other steps. */
export const imageConfig: Migration = {
  async up(db: Kysely<{ build_cache: object }>) {
    await db.deleteFrom('build_cache').execute();
    await db.schema.alterTable('build_cache').renameColumn('env', 'config').execute();
  },
};
