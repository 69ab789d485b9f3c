import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg, { type ClientConfig } from 'pg';
import type { Log } from '../../log.ts';
import { createPlugins } from '../columns.ts';
import { migrations } from '../migrations.ts';
import type { Schema } from '../schema.ts';
import { createSealer } from '../sealer.ts';
import { createStoreQueries, type Store } from '../store.ts';
import { createCheckedPool } from './checked-pool.ts';
import { toConfig } from './config.ts';
import { createPostgresDialect } from './dialect.ts';
import { takeServerLock } from './server-lock.ts';
import { createSockets } from './sockets.ts';

/** The database may notice the death of the previous server only after a moment. */
const SERVER_WAIT_MS = 5_000;
const MAX_CONNECTIONS = 10;
const CLOSE_MS = 5_000;

/** The host, port and name in a URL, without user, password and options. */
export const toDatabaseName = (url: string): string => {
  const { host, pathname, searchParams } = new URL(url);
  return `${host || (searchParams.get('host') ?? 'localhost')}${pathname}`;
};

/**
 * Opens the store in a PostgreSQL database and migrates its tables first. A password that the URL does not have is looked up
 * in `PGPASSWORD` and `PGPASSFILE`. Rejects when another server uses the database, unless both share it, when it is from a newer version, and
 * when it cannot be reached; messages name the database without its password. Later, calls reject with `unavailable` while
 * the database cannot serve them, or does not within the time of a statement. `close` waits for calls in progress up to
 * `closeMs`, then logs that the database does not respond and cuts its connections, so that they reject with `unavailable`.
 */
export const createPostgresStore = async ({
  url,
  secret,
  serverWaitMs = SERVER_WAIT_MS,
  statementMs,
  closeMs = CLOSE_MS,
  isShared = false,
  now = Date.now,
  log,
  onError,
}: {
  url: string;
  /** The secret of the installation, which encrypts columns that may have secrets. */
  secret: string;
  /** How long another server may still have the database before the call rejects. */
  serverWaitMs?: number;
  /** How long a statement may take before the call rejects; the default is 30 s. */
  statementMs?: number;
  /** Default: 5 s. */
  closeMs?: number;
  /** Whether other servers that also say so may use the database at the same time. */
  isShared?: boolean;
  /** The time of the entries that the store itself writes into the log of a sandbox. */
  now?: () => number;
  log?: Pick<Log, 'warn'> | undefined;
  /** Called for each statement that fails, and for each connection that cannot be made or had. */
  onError?: (() => void) | undefined;
}): Promise<Store> => {
  const name = toDatabaseName(url);
  const sealer = createSealer(secret);
  const sockets = createSockets();
  const stream = sockets.open;
  const config = { ...toConfig(url, statementMs === undefined ? {} : { statementMs }), stream };
  const lock = await takeServerLock(config, { name, waitMs: serverWaitMs, isShared }).catch(
    (error: unknown) => {
      throw new Error(`cannot open the database ${name}`, { cause: error });
    },
  );
  const open = (settings: ClientConfig, max: number): Kysely<Schema> => {
    const pool = new pg.Pool({ ...settings, max });
    // Ignore errors of an idle connection: the pool removes it.
    pool.on('error', () => undefined);
    // Ignore errors of a connection in use, whose query rejects too: without a listener they would end the
    // process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return new Kysely<Schema>({
      dialect: createPostgresDialect(createCheckedPool(pool, { requireServer: lock.require, onError })),
      plugins: createPlugins(sealer),
    });
  };
  try {
    await migrate(open({ ...toConfig(url, { statementMs: 'none' }), stream }, 1));
  } catch (error) {
    await lock.release();
    throw new Error(`cannot open the database ${name}`, { cause: error });
  }
  const db = open(config, MAX_CONNECTIONS);
  const close = async (): Promise<void> => {
    const limit = setTimeout(() => {
      log?.warn('the database does not respond, so its connections are cut', { database: name });
      void lock.release(); // First: otherwise it is taken again when its connection ends.
      sockets.cut();
    }, closeMs);
    try {
      await db.destroy();
      await lock.release();
      await sockets.closed();
    } finally {
      clearTimeout(limit);
    }
  };
  const time = () => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  const toStore = (owner?: string): Store => ({
    ...createStoreQueries(db, { now, time, sealer, ...(owner !== undefined && { owner }) }),
    ownedBy: toStore,
    close,
  });
  return toStore();
};

/** Closes the database when it resolves or rejects. */
const migrate = async (db: Kysely<Schema>): Promise<void> => {
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
  } finally {
    await db.destroy();
  }
};
