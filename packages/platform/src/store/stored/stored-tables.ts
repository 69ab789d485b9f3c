import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { StoredState } from './stored-store.ts';

/** Copies in the blob store. */
export interface StoredSnapshotTable {
  id: string;
  state: StoredState;
  sandbox_id: string | null;
  paused_at: number | null;
  created_at: number;
  manifest_sha256: string | null;
  template_digest: string | null;
  size_bytes: number | null;
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
