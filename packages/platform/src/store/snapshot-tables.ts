import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { PauseKind, SnapshotState } from './store.ts';

/** The snapshot that a tag of a template points to. */
export interface TemplateTagTable {
  template_id: string;
  tag: string;
  snapshot_id: string;
}

export interface SnapshotTable {
  id: string;
  /** Null until it is ready. */
  template_id: string | null;
  sandbox_id: string;
  parent_id: string | null;
  build_id: string | null;
  state: SnapshotState;
  kind: PauseKind;
  created_at: number;
  cpu_count: number;
  memory_mb: number;
  disk_mb: number;
  node: string | null;
}

export const snapshots: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('templates')
      .addColumn('kind', 'text', (column) => column.notNull().defaultTo('image'))
      .execute();
    await db.schema.alterTable('sandboxes').addColumn('snapshot_id', 'text').execute();
    await db.schema
      .createTable('snapshots')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('template_id', 'text')
      .addColumn('sandbox_id', 'text', (column) => column.notNull())
      .addColumn('parent_id', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('cpu_count', 'integer', (column) => column.notNull())
      .addColumn('memory_mb', 'integer', (column) => column.notNull())
      .addColumn('disk_mb', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('snapshots_by_creation')
      .on('snapshots')
      .columns(['created_at', 'id'])
      .execute();
    await db.schema
      .createTable('template_tags')
      .addColumn('template_id', 'text', (column) => column.notNull().references('templates.id'))
      .addColumn('tag', 'text', (column) => column.notNull())
      .addColumn('snapshot_id', 'text', (column) => column.notNull().references('snapshots.id'))
      .addPrimaryKeyConstraint('template_tags_key', ['template_id', 'tag'])
      .execute();
    await db.schema
      .createIndex('template_tags_by_snapshot')
      .on('template_tags')
      .column('snapshot_id')
      .execute();
  },
};
