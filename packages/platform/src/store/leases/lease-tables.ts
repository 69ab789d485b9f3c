import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

export interface LeaseTable {
  name: string;
  owner: string;
  address: string;
  renewed_at: number;
  expires_at: number;
}

export const leases: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('leases')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('renewed_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    // What the owner says of a node, as JSON.
    await db.schema.alterTable('nodes').addColumn('status', 'text').execute();
  },
};
