import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { ApiError } from '@skerry/contract/error';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';

/** Adapts a `node:sqlite` database to the interface that kysely's driver expects. */
const toSqliteDatabase = (database: DatabaseSync): SqliteDatabase => ({
  close: () => database.close(),
  prepare: (sql) => {
    const statement = database.prepare(sql);
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => tellFullDisk(() => statement.all(...(parameters as SQLInputValue[]))),
      run: (parameters) => tellFullDisk(() => statement.run(...(parameters as SQLInputValue[]))),
      iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
    };
  },
});

// https://sqlite.org/rescode.html
const SQLITE_FULL = 13;

/** Whether an error of `node:sqlite` means that the disk is full. */
export const isFullDisk = (error: unknown): boolean =>
  (error as { errcode?: number } | undefined)?.errcode === SQLITE_FULL;

const tellFullDisk = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!isFullDisk(error)) throw error;
    throw new ApiError('unavailable', 'the disk of this host is full', {
      cause: error,
      reason: 'sandbox_capacity_unavailable',
    });
  }
};

class NodeSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super({ database: toSqliteDatabase(database) });
    this.#database = database;
  }

  // A deferred transaction that reads first fails at its first write when another process wrote meanwhile.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  // Some errors have rolled back already, a full disk among them: https://sqlite.org/lang_transaction.html
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

class NodeSqliteAdapter extends SqliteAdapter {
  // https://sqlite.org/lang_transaction.html: DDL rolls back too, so a crash leaves no partial migration.
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely's SQLite dialect for the database engine that is built into Node. The driver closes the database. */
export const createNodeSqliteDialect = (database: DatabaseSync): Dialect => ({
  createAdapter: () => new NodeSqliteAdapter(),
  createDriver: () => new NodeSqliteDriver(database),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
});
