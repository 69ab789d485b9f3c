import type { BigIntStats } from 'node:fs';
import { readlink, realpath, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { invalid } from '@skerry/contract/error';
import { isErrno } from '../../system/errno.ts';
import { makeDirectories } from '../../system/make-directories.ts';
import type { User } from '../../system/users.ts';
import { appendFile, createCopyBuffers } from './append-file.ts';
import { toWriteError } from './open-for-writing.ts';
import { openRegularFile } from './open-regular-file.ts';
import { createTemporaryFile } from './temporary-file.ts';
import type { UploadRecord } from './write-body.ts';

/** Absolute paths. */
export interface CompositionPaths {
  /** The paths of the files to join; at least one. */
  sources: readonly string[];
  destination: string;
}

/** The kernel follows no more links in one path (path_resolution(7)). */
const MAX_LINKS = 40;

const isMissing = (error: unknown): boolean =>
  isErrno(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

/** Stats with bigints: two inode numbers of an overlay may be equal when rounded to a double. */
const statIfThere = async (path: string): Promise<BigIntStats | undefined> => {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

const isSame = (left: BigIntStats, right: BigIntStats): boolean =>
  left.ino === right.ino && left.dev === right.dev;

/** The path that a write to `path` would create or change: the end of its links, even when it does not exist yet. */
const followLinks = async (path: string): Promise<string> => {
  let end = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    let target: string;
    try {
      target = await readlink(end);
    } catch (error) {
      if (isMissing(error) || (isErrno(error) && error.code === 'EINVAL')) return end;
      throw error;
    }
    // Keep the path as it is: `..` behind a linked directory is that directory's own parent.
    end = target.startsWith('/') ? target : `${await realpath(dirname(end))}/${target}`;
  }
  throw invalid(`path "${path}" has too many symbolic links`);
};

const checkDestination = async (destination: string): Promise<BigIntStats | undefined> => {
  const stats = await statIfThere(destination);
  if (stats !== undefined && !stats.isFile())
    throw invalid(`path "${destination}" is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}`);
  return stats;
};

/** Checks every source before anything is created. */
const checkSources = async (
  sources: readonly string[],
  destination: BigIntStats | undefined,
): Promise<void> => {
  for (const source of sources) {
    const { file } = await openRegularFile(source);
    try {
      if (destination !== undefined && isSame(await file.stat({ bigint: true }), destination))
        throw invalid(`source "${source}" is the destination`);
    } finally {
      await file.close();
    }
  }
};

/** Deletes the copied sources. A source that was replaced or written to since it was opened stays. */
const removeSources = async (copied: ReadonlyMap<string, BigIntStats>): Promise<void> => {
  for (const [path, stats] of copied) {
    const now = await statIfThere(path);
    const isUnchanged = now?.mtimeNs === stats.mtimeNs && now.size === stats.size && isSame(now, stats);
    if (isUnchanged) await unlink(path);
  }
};

interface Joining {
  sources: readonly string[];
  /** The file that was at the destination; its owner and mode are kept. */
  before: BigIntStats | undefined;
  user: User;
  signal: AbortSignal;
}

/** Returns the sources and the state of each just before it was copied. */
const joinInto = async (
  path: string,
  { sources, before, user, signal }: Joining,
): Promise<ReadonlyMap<string, BigIntStats>> => {
  const copied = new Map<string, BigIntStats>();
  const temporary = await createTemporaryFile(dirname(path));
  try {
    const buffers = createCopyBuffers();
    for (const source of sources) {
      const { file } = await openRegularFile(source);
      try {
        copied.set(source, await file.stat({ bigint: true }));
        await appendFile(file, temporary.file, { buffers, signal });
      } finally {
        await file.close();
      }
    }
    await temporary.file.chown(Number(before?.uid ?? user.uid), Number(before?.gid ?? user.gid));
    // After the owner, whose change would take the set-user-id bit away.
    await temporary.file.chmod(Number(before?.mode ?? 0o644n) & 0o7777);
    signal.throwIfAborted();
    await temporary.moveTo(path);
    return copied;
  } catch (error) {
    await temporary.discard();
    throw error;
  } finally {
    await temporary.file.close();
  }
};

/**
 * Joins the sources in their order into a new file that takes the place of the destination in one step, then deletes them.
 * Rejects with `not_found` for a source that is missing, `invalid_argument` for a path that is no regular file or for a
 * destination among the sources, `insufficient_storage` when the disk is full, and with the reason of `signal`. The
 * destination and the sources are then as they were, unless it was the deletion that failed.
 */
export const compose = async (
  { sources, destination }: CompositionPaths,
  { user, signal }: { user: User; signal: AbortSignal },
): Promise<UploadRecord> => {
  try {
    const before = await checkDestination(destination);
    await checkSources(sources, before);
    const path = await followLinks(destination);
    await makeDirectories(dirname(path), user);
    await removeSources(await joinInto(path, { sources, before, user, signal }));
    return { path: destination, name: basename(destination), type: 'file' };
  } catch (error) {
    throw toWriteError(error, destination);
  }
};
