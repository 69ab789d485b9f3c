import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { toUnavailable } from './database-error.ts';

/** Identifies the lock that the one server of a database holds, as long as its connection lives. */
const SERVER_LOCK = 7_365_727_200;

const RETRY_MS = 200;

export interface ServerLock {
  /** Throws `unavailable` while the lock is not held. */
  require(): void;
  release(): Promise<void>;
}

/** Resolves with false when another connection has the lock. */
const tryLock = async (client: Client, isShared: boolean): Promise<boolean> => {
  const call = isShared ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
  const { rows } = await client.query<{ held: boolean }>(`select ${call}(${SERVER_LOCK}) as held`);
  return rows[0]?.held === true;
};

/**
 * Takes the lock of a database on a connection of its own, so that servers share it only when all of them ask for that. When that
 * connection ends, the lock is taken again as soon as that is possible. Rejects when another server still has it after
 * `waitMs`.
 */
export const takeServerLock = async (
  config: ClientConfig,
  { name, waitMs, isShared = false }: { name: string; waitMs: number; isShared?: boolean },
): Promise<ServerLock> => {
  let held: Client | undefined;
  let isClosing = false;

  const attempt = async (): Promise<boolean> => {
    const client = new Client(config);
    // The end of the connection reports it too. An error without a listener would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (!(await tryLock(client, isShared))) {
        await client.end();
        return false;
      }
    } catch (error) {
      await client.end().catch(() => undefined); // The error of the attempt has the reason.
      throw error;
    }
    client.once('end', () => {
      if (held !== client) return;
      held = undefined;
      if (!isClosing) void retake();
    });
    held = client;
    return true;
  };

  const retake = async (): Promise<void> => {
    while (!isClosing && held === undefined) {
      // Callers get 503 until it succeeds.
      await attempt().catch(() => false);
      if (held === undefined) await sleep(RETRY_MS);
    }
    if (isClosing) await held?.end();
  };

  const until = performance.now() + waitMs;
  while (!(await attempt())) {
    if (performance.now() > until) throw new Error(`another server uses the database ${name}`);
    await sleep(RETRY_MS);
  }
  return {
    require: () => {
      if (held === undefined) throw toUnavailable('the connection to the database was lost');
    },
    release: async () => {
      isClosing = true;
      await held?.end();
    },
  };
};
