import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { ApiError } from '@skerry/contract/error';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  sql,
} from 'kysely';

/** The statements that the server repeats are fewer; callers choose the number of filters in some others. */
const MOST_PREPARED = 200;

/** Adapts a `node:sqlite` database to the interface that kysely's driver expects. */
const toSqliteDatabase = (database: DatabaseSync): SqliteDatabase => {
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare: (sql) => {
      const statement = prepared.get(sql) ?? prepare(database, sql);
      // The one that was used longest ago is the first.
      prepared.delete(sql);
      prepared.set(sql, statement);
      if (prepared.size > MOST_PREPARED) prepared.delete(prepared.keys().next().value as string);
      return statement;
    },
  };
};

/** SQLite has numbers for flags. */
const toBound = (parameters: readonly unknown[]): SQLInputValue[] =>
  parameters.map((value) => (typeof value === 'boolean' ? Number(value) : (value as SQLInputValue)));

const prepare = (database: DatabaseSync, sql: string): SqliteStatement => {
  const statement = database.prepare(sql);
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => tellFullDisk(() => statement.all(...toBound(parameters))),
    run: (parameters) => tellFullDisk(() => statement.run(...toBound(parameters))),
    iterate: (parameters) => statement.iterate(...toBound(parameters)),
  };
};

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

/**
 * Runs a transaction that is whole, and is lost only by a power failure before the next commit, which syncs it too:
 * https://sqlite.org/pragma.html#pragma_synchronous. Requires a database in WAL mode that syncs each commit, and leaves it so.
 */
export const withoutSync = <Schema, T>(
  db: Kysely<Schema>,
  transact: (connection: Kysely<Schema>) => Promise<T>,
): Promise<T> =>
  db.connection().execute(async (connection) => {
    await sql`pragma synchronous = normal`.execute(connection);
    try {
      return await transact(connection);
    } finally {
      await sql`pragma synchronous = full`.execute(connection);
    }
  });
