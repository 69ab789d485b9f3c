import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The usage of a sandbox at one moment. Its limits are in its own row. */
export interface MetricTable {
  sandbox_id: string;
  at: number;
  grain: number;
  cpu_used_pct: number;
  memory_bytes: number;
  cache_bytes: number;
  disk_bytes: number;
}

export const metrics: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('sandbox_metrics')
      .addColumn('sandbox_id', 'text', (column) =>
        column.notNull().references('sandboxes.id').onDelete('cascade'),
      )
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('grain', 'integer', (column) => column.notNull())
      .addColumn('cpu_used_pct', 'real', (column) => column.notNull())
      .addColumn('memory_bytes', 'bigint', (column) => column.notNull())
      .addColumn('cache_bytes', 'bigint', (column) => column.notNull())
      .addColumn('disk_bytes', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('sandbox_metrics_key', ['sandbox_id', 'at'])
      .execute();
    await db.schema
      .createIndex('sandbox_metrics_by_grain')
      .on('sandbox_metrics')
      .columns(['grain', 'at'])
      .execute();
  },
};
