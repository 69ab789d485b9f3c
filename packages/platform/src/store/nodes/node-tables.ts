import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

export interface NodeTable {
  name: string;
  address: string;
  epoch: number;
  cordoned: number;
  seen_at: number | null;
  lost_at: number | null;
  /** What its owner says of it, as JSON. */
  status: string | null;
}

export const nodes: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('nodes')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('epoch', 'bigint', (column) => column.notNull())
      .addColumn('cordoned', 'integer', (column) => column.notNull())
      .addColumn('seen_at', 'bigint')
      .addColumn('lost_at', 'bigint')
      .execute();
    await db.schema.alterTable('sandboxes').addColumn('node', 'text').execute();
    await db.schema.alterTable('snapshots').addColumn('node', 'text').execute();
  },
};
