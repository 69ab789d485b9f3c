import type { Generated, Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** One entry of the log of a sandbox. */
export interface LogTable {
  id: Generated<number>;
  sandbox_id: string;
  at: number;
  /** Place in `logLevels`. */
  level: number;
  logger: string;
  message: string;
  fields: string;
  /** 0 for entries of the platform. */
  size_bytes: number;
}

/** The position up to which the log of a sandbox's agent was fetched, and the bytes that are stored. */
export interface LogSourceTable {
  sandbox_id: string;
  origin: string;
  seq: number;
  stored_bytes: number;
}

export const logs: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('sandbox_logs')
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      .addColumn('sandbox_id', 'text', (column) =>
        column.notNull().references('sandboxes.id').onDelete('cascade'),
      )
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('level', 'integer', (column) => column.notNull())
      .addColumn('logger', 'text', (column) => column.notNull())
      .addColumn('message', 'text', (column) => column.notNull())
      .addColumn('fields', 'text', (column) => column.notNull())
      .addColumn('size_bytes', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('sandbox_logs_of_sandbox')
      .on('sandbox_logs')
      .columns(['sandbox_id', 'at', 'id'])
      .execute();
    await db.schema.createIndex('sandbox_logs_by_time').on('sandbox_logs').column('at').execute();
    await db.schema
      .createTable('log_sources')
      .addColumn('sandbox_id', 'text', (column) =>
        column.primaryKey().references('sandboxes.id').onDelete('cascade'),
      )
      .addColumn('origin', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('stored_bytes', 'bigint', (column) => column.notNull())
      .execute();
  },
};
