import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { BuildLogLevel, BuildState } from './build-store.ts';

export interface BuildTable {
  id: string;
  template_id: string;
  state: BuildState;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  cpu_count: number;
  memory_mb: number;
  disk_mb: number;
  min_free_disk_mb: number;
  /** JSON text, as `env`. */
  tags: string;
  env: string;
  /** Null until it is ready, and again when its image may be removed. */
  image: string | null;
  image_bytes: number | null;
  reason: string | null;
  reason_step: string | null;
  /** JSON text. */
  start_commands: string | null;
  checkpoint_id: string | null;
}

export interface BuildLogTable {
  build_id: string;
  position: number;
  at: number;
  level: BuildLogLevel;
  message: string;
  step: string | null;
}

export const builds: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('sandboxes').addColumn('build_id', 'text').execute();
    await db.schema.alterTable('snapshots').addColumn('build_id', 'text').execute();
    await db.schema
      .createTable('builds')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('template_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('finished_at', 'bigint')
      .addColumn('cpu_count', 'integer', (column) => column.notNull())
      .addColumn('memory_mb', 'integer', (column) => column.notNull())
      .addColumn('disk_mb', 'integer', (column) => column.notNull())
      .addColumn('tags', 'text', (column) => column.notNull())
      .addColumn('env', 'text', (column) => column.notNull())
      .addColumn('image', 'text')
      .addColumn('image_bytes', 'bigint')
      .addColumn('reason', 'text')
      .addColumn('reason_step', 'text')
      .execute();
    await db.schema
      .createIndex('builds_by_template')
      .on('builds')
      .columns(['template_id', 'created_at'])
      .execute();
    await db.schema
      .createTable('build_tags')
      .addColumn('template_id', 'text', (column) => column.notNull().references('templates.id'))
      .addColumn('tag', 'text', (column) => column.notNull())
      .addColumn('build_id', 'text', (column) => column.notNull().references('builds.id'))
      .addPrimaryKeyConstraint('build_tags_key', ['template_id', 'tag'])
      .execute();
    await db.schema
      .createTable('build_logs')
      .addColumn('build_id', 'text', (column) => column.notNull().references('builds.id').onDelete('cascade'))
      .addColumn('position', 'integer', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('level', 'text', (column) => column.notNull())
      .addColumn('message', 'text', (column) => column.notNull())
      .addColumn('step', 'text')
      .addPrimaryKeyConstraint('build_logs_key', ['build_id', 'position'])
      .execute();
  },
};

export const startCommands: Migration = {
  async up(db: Kysely<unknown>) {
    // One column for each statement: SQLite adds only one at a time.
    await db.schema.alterTable('builds').addColumn('start_commands', 'text').execute();
    await db.schema.alterTable('builds').addColumn('checkpoint_id', 'text').execute();
  },
};

export const freeDisk: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('builds')
      .addColumn('min_free_disk_mb', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
