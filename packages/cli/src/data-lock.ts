import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { CliError } from './cli-error.ts';

/** SQLite's result code when another connection holds the lock: https://sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

export interface DataLock {
  release(): void;
}

/** The file that every server of a folder locks. It stays when they are gone, so it also tells a folder of ours. */
export const lockFile = (folder: string): string => join(folder, 'run', 'lock.db');

/**
 * Takes the folder for this process, so that two servers never share one. The kernel gives the lock back when the process
 * ends in any way: it is the byte lock that SQLite holds on an otherwise empty database, as Node has no flock of its own.
 * Rejects when another process still holds it after `waitMs`.
 */
export async function lockDataFolder(
  folder: string,
  { waitMs = 0 }: { waitMs?: number } = {},
): Promise<DataLock> {
  const lock = await waitForLock(folder, waitMs);
  if (lock) return lock;
  throw new CliError(`another skerry is using ${folder}: stop it or name another folder with --data`);
}

/** As `lockDataFolder`, and resolves with undefined when another process still holds it. */
export async function waitForLock(folder: string, waitMs: number): Promise<DataLock | undefined> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const lock = tryLock(folder);
    if (lock || performance.now() >= deadline) return lock;
    await delay(50);
  }
}

/**
 * Whether another process has locked the folder, or this one: a server of it is starting, serving or stopping. Only reads, so that
 * a server which starts meanwhile gets the lock all the same.
 */
export function isLocked(folder: string): boolean {
  if (!existsSync(lockFile(folder))) return false;
  const database = new DatabaseSync(lockFile(folder), { readOnly: true, timeout: 0 });
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** Takes the lock at once, or returns undefined when another process holds it. */
export function tryLock(folder: string): DataLock | undefined {
  const database = new DatabaseSync(lockFile(folder), { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}
