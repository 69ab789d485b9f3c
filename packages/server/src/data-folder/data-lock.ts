import { type FileLock, isFileLocked, tryFileLock, waitForFileLock } from '@skerry/runtime/kernel';
import { UserError } from '../user-error.ts';
import { lockFile } from './data-folder.ts';

/**
 * Takes the folder for this process, so that two servers never share one. The kernel releases the lock when the process
 * ends in any way. Rejects when another process still holds it after `waitMs`.
 */
export async function lockDataFolder(
  folder: string,
  { waitMs = 0 }: { waitMs?: number } = {},
): Promise<FileLock> {
  const lock = await waitForLock(folder, waitMs);
  if (lock) return lock;
  throw new UserError(`another skerry is using ${folder}: stop it or name another folder with --data`);
}

/** Waits for the lock; resolves with undefined when another process still holds it then. */
export const waitForLock = (folder: string, waitMs: number): Promise<FileLock | undefined> =>
  waitForFileLock(lockFile(folder), { waitMs });

/** Whether a process holds the lock: a server of the folder is starting, serving or stopping. */
export const isLocked = (folder: string): boolean => isFileLocked(lockFile(folder));

/** Takes the lock at once, or returns undefined when another process holds it. */
export const tryLock = (folder: string): FileLock | undefined => tryFileLock(lockFile(folder));
