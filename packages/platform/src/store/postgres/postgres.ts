import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg, { type ClientConfig } from 'pg';
import { migrations } from '../migrations.ts';
import type { Schema } from '../schema.ts';
import type { Store } from '../store.ts';
import { createStoreQueries } from '../store-queries.ts';
import { createCheckedPool } from './checked-pool.ts';
import { createPostgresDialect } from './dialect.ts';
import { takeServerLock } from './server-lock.ts';

const CONNECT_MS = 5_000;
const LOCK_WAIT_MS = 10_000;
/** The database may notice the death of the previous server only after a moment. */
const SERVER_WAIT_MS = 5_000;
const MAX_CONNECTIONS = 10;

// pg_type.dat. Times and sizes fit into a double; as a text, `pg`'s default, they would be concatenated.
const INT8 = 20;

/** The host, port and name in a URL, without user, password and options. */
export const toDatabaseName = (url: string): string => {
  const { host, pathname, searchParams } = new URL(url);
  return `${host || (searchParams.get('host') ?? 'localhost')}${pathname}`;
};

const toConfig = (url: string): ClientConfig => ({
  connectionString: url,
  application_name: 'skerry',
  connectionTimeoutMillis: CONNECT_MS,
  keepAlive: true,
  // Acknowledged means committed, whatever the default of the database is.
  options: `-c synchronous_commit=on -c lock_timeout=${LOCK_WAIT_MS}`,
  types: {
    getTypeParser: ((oid: number, format: 'text') =>
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
  },
});

/**
 * Opens the store in a PostgreSQL database and migrates its tables first. A password that the URL does not have is looked up
 * in `PGPASSWORD` and `PGPASSFILE`. Rejects when another server uses the database, when it is from a newer version, and
 * when it cannot be reached; messages name the database without its password. Later, calls reject with `unavailable` while
 * the database cannot serve them.
 */
export const createPostgresStore = async ({
  url,
  serverWaitMs = SERVER_WAIT_MS,
  now = Date.now,
}: {
  url: string;
  /** How long another server may still have the database before the call rejects. */
  serverWaitMs?: number;
  /** The time of the entries that the store itself writes into the log of a sandbox. */
  now?: () => number;
}): Promise<Store> => {
  const name = toDatabaseName(url);
  const config = toConfig(url);
  const lock = await takeServerLock(config, { name, waitMs: serverWaitMs }).catch((error: unknown) => {
    throw new Error(`cannot open the database ${name}`, { cause: error });
  });
  const pool = new pg.Pool({ ...config, max: MAX_CONNECTIONS });
  // Of an idle connection, which the pool then removes.
  pool.on('error', () => undefined);
  // Of one in use, whose query rejects too. An error without a listener would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const db = new Kysely<Schema>({
    dialect: createPostgresDialect(createCheckedPool(pool, lock.require)),
  });
  const close = async (): Promise<void> => {
    await db.destroy();
    await lock.release();
  };
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
  } catch (error) {
    await close();
    throw new Error(`cannot open the database ${name}`, { cause: error });
  }
  return { ...createStoreQueries(db, { now }), close };
};
