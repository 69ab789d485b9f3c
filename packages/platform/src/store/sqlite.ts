import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { createPlugins } from './columns.ts';
import { migrations } from './migrations.ts';
import { createNodeSqliteDialect, isFullDisk, withoutSync } from './node-sqlite.ts';
import { createSandboxQueries } from './sandbox-queries.ts';
import type { Schema } from './schema.ts';
import { createSealer } from './sealer.ts';
import { createStoreQueries, type Store } from './store.ts';

// At this number of pages, of 4 kB each, the log is written into the database and starts over.
const CHECKPOINT_PAGES = 400;
const RESERVE_BYTES = 2 * 2 ** 20;

/**
 * Makes log and database large enough for writes on a full disk: removing a sandbox, which frees space, writes rows
 * too. Does nothing on a disk that is full already.
 */
const reserveRoom = (database: DatabaseSync): void => {
  try {
    database.exec(
      `pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}; begin; create table reserve (bytes blob);
      insert into reserve values (zeroblob(${RESERVE_BYTES})); drop table reserve; commit; pragma wal_checkpoint(restart)`,
    );
  } catch (error) {
    if (!isFullDisk(error)) throw error;
    if (database.isTransaction) database.exec('rollback');
  }
};

/**
 * Opens the embedded store in one file. Creates the file (mode 0600, in an existing folder) if it is missing, and
 * migrates its tables first. Rejects when the file is from a newer version or is not a database.
 */
export const createStore = async ({
  path,
  secret,
  now = Date.now,
  onError,
}: {
  path: string;
  /** The secret of the installation, which encrypts columns that may have secrets. */
  secret: string;
  /** The time of leases, and of the entries that the store itself writes into the log of a sandbox. */
  now?: () => number;
  /** Called for each statement that fails. */
  onError?: (() => void) | undefined;
}): Promise<Store> => {
  // SQLite copies the mode of the database file to its side files.
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: 5_000 });
  const sealer = createSealer(secret);
  const db = new Kysely<Schema>({
    dialect: createNodeSqliteDialect(database),
    plugins: createPlugins(sealer),
    log: ({ level }) => {
      if (level === 'error') onError?.();
    },
  });
  try {
    // FULL syncs the log at every commit; WAL's default would lose acknowledged writes in a power failure.
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;');
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
    reserveRoom(database);
  } catch (error) {
    database.close();
    throw new Error(`cannot open the database ${path}`, { cause: error });
  }
  const open = (owner?: string): Store => {
    const options = {
      now,
      time: () => sql<number>`${now()}`,
      sealer,
      ...(owner !== undefined && { owner }),
    };
    const queries = createStoreQueries(db, options);
    return {
      ...queries,
      // The state before it, `killing`, is on the disk: after a power failure the sandbox is ended once more.
      changeState: (id, change) =>
        change.to === 'ended'
          ? withoutSync(db, (connection) => createSandboxQueries(connection, options).changeState(id, change))
          : queries.changeState(id, change),
      ownedBy: open,
      close: () => db.destroy(),
    };
  };
  return open();
};
