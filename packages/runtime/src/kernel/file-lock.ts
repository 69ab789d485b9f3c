import { closeSync, fstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import koffi, { libc } from './native.ts';

/** A lock by flock(2). The kernel releases it when this process ends in any way. */
export interface FileLock {
  release(): void;
}

export interface LockWait {
  /** How long another holder may keep the lock. */
  waitMs: number;
  /** Called once when another holder has the lock. */
  onWait?: (() => void) | undefined;
  /** Rejects with its reason when it aborts. */
  signal?: AbortSignal | undefined;
}

const nativeFlock = libc.func('int flock(int, int)');
// linux/fcntl.h
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Takes the lock of a file, made when missing; undefined while another process, or another holder in this one, has it.
 */
export const tryFileLock = (path: string): FileLock | undefined => tryLock(path, openLockFile);

/**
 * Waits for another holder of the lock, otherwise as `tryFileLock` does; resolves with undefined after
 * `waitMs`.
 */
export const waitForFileLock = (path: string, wait: LockWait): Promise<FileLock | undefined> =>
  waitForLock(() => tryFileLock(path), wait);

/** Whether the lock of a file is held. A `tryFileLock` of another process at the same moment may fail. */
export const isFileLocked = (path: string): boolean => {
  const fd = openUnlessMissing(() => openSync(path, 'r'));
  if (fd === undefined) return false;
  try {
    return !flock(fd, LOCK_SH);
  } finally {
    closeSync(fd);
  }
};

/**
 * Calls `work` while no other process of this host, and no other call in this one, works under the lock of the same
 * folder, which is made when missing. `work` may remove the folder as its last step, which also releases the lock.
 * Rejects when another holder keeps the lock for `waitMs`, by default a minute.
 */
export const withFolderLock = async <T>(
  folder: string,
  work: () => Promise<T>,
  { waitMs = 60_000, ...wait }: Partial<LockWait> = {},
): Promise<T> => {
  const lock = await waitForLock(() => tryLock(folder, openFolder), { waitMs, ...wait });
  if (!lock) throw new Error(`another process has kept ${folder} locked for ${waitMs / 1000} s`);
  try {
    return await work();
  } finally {
    lock.release();
  }
};

/** Waiting in flock(2) itself would take a thread, and could not be aborted. */
const POLL_MS = 10;

const waitForLock = async (
  take: () => FileLock | undefined,
  { waitMs, onWait, signal }: LockWait,
): Promise<FileLock | undefined> => {
  const deadline = performance.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    signal?.throwIfAborted();
    const lock = take();
    if (lock || performance.now() >= deadline) return lock;
    if (isFirst) onWait?.();
    await delay(POLL_MS);
  }
};

const tryLock = (path: string, open: (path: string) => number | undefined): FileLock | undefined => {
  const fd = open(path);
  if (fd === undefined) return undefined;
  try {
    // An earlier holder may have removed this file or folder since it was opened here. Later callers would then lock a new one
    // of the same name, so a lock of this one counts as not taken.
    if (flock(fd, LOCK_EX) && isStillNamed(fd, path)) return { release: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  closeSync(fd);
  return undefined;
};

const openLockFile = (path: string): number => openSync(path, 'a', 0o600);

/** Undefined when a holder removes the folder at this moment, which also a recursive mkdir can run into. */
const openFolder = (path: string): number | undefined =>
  openUnlessMissing(() => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return openSync(path, 'r');
  });

const openUnlessMissing = (open: () => number): number | undefined => {
  try {
    return open();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/** Returns whether the lock was free; the lock belongs to the open file description of `fd`. */
const flock = (fd: number, kind: number): boolean => {
  if (nativeFlock(fd, kind | LOCK_NB) === 0) return true;
  const errno = koffi.errno();
  if (errno === constants.errno.EWOULDBLOCK) return false;
  throw new Error(`flock failed with error ${errno}`);
};

const isStillNamed = (fd: number, path: string): boolean => {
  const named = statSync(path, { throwIfNoEntry: false });
  const held = fstatSync(fd);
  return named?.ino === held.ino && named.dev === held.dev;
};
