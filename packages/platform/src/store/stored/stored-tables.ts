import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { StoredState } from './stored-store.ts';

/** Copies in the blob store: each is of a pause of a sandbox, of a snapshot or of an image. */
export interface StoredSnapshotTable {
  id: string;
  state: StoredState;
  sandbox_id: string | null;
  paused_at: number | null;
  snapshot_id: string | null;
  /** Its digest. */
  image: string | null;
  /** The lease under which it is made; null: before there were several servers with a blob store. */
  lease: string | null;
  /** The server that makes it; null: the only one. */
  owner: string | null;
  created_at: number;
  manifest_sha256: string | null;
  template_digest: string | null;
  size_bytes: number | null;
  /** Of an image, before it is compressed. */
  image_bytes: number | null;
}

export const storedSnapshots: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('stored_snapshots')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('sandbox_id', 'text')
      .addColumn('paused_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('manifest_sha256', 'text')
      .addColumn('template_digest', 'text')
      .addColumn('size_bytes', 'bigint')
      .execute();
    await db.schema
      .createIndex('stored_snapshots_by_sandbox')
      .on('stored_snapshots')
      .columns(['sandbox_id', 'paused_at'])
      .execute();
  },
};

/** Copies of images, and those that several servers make. */
export const storedImages: Migration = {
  async up(db: Kysely<unknown>) {
    // One column for each statement: SQLite adds only one at a time.
    for (const column of ['snapshot_id', 'image', 'lease', 'owner'])
      await db.schema.alterTable('stored_snapshots').addColumn(column, 'text').execute();
    await db.schema.alterTable('stored_snapshots').addColumn('image_bytes', 'bigint').execute();
    await sql`update stored_snapshots set snapshot_id = id where sandbox_id is null`.execute(db);
  },
};
