import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiError, invalid } from '@skerry/contract/error';
import { fromErrno, isErrno } from '../../system/errno.ts';
import { makeDirectories } from '../../system/make-directories.ts';
import type { User } from '../../system/users.ts';

const { O_CREAT, O_EXCL, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

export interface WritableFile {
  file: FileHandle;
  /** Call it when all is written: restores the mode bits that each write clears. */
  restoreMode(): Promise<void>;
  /** Deletes the file if this upload has created it. */
  undo(): Promise<void>;
}

const nothing = async (): Promise<void> => undefined;

const openFor = async (user: User, path: string, flags: number): Promise<FileHandle> => {
  const file = await open(path, flags, 0o644);
  try {
    await file.chown(user.uid, user.gid);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
};

const create = async (path: string, user: User): Promise<WritableFile> => {
  const file = await openFor(user, path, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK);
  return { file, restoreMode: nothing, undo: () => rm(path, { force: true }) };
};

/** Set-user-id, set-group-id and sticky. */
const SPECIAL_BITS = 0o7000;

const requireRegular = (path: string, stats: Stats): void => {
  if (!stats.isFile() && !stats.isDirectory()) throw invalid(`path "${path}" is not a regular file`);
};

const openExisting = async (path: string): Promise<WritableFile> => {
  // A FIFO is not opened: that would wake a program that waits to read from it.
  requireRegular(path, await stat(path));
  const file = await open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = await file.stat();
    requireRegular(path, stats);
    await file.truncate(0);
    const restoreMode = async (): Promise<void> => {
      if ((stats.mode & SPECIAL_BITS) !== 0) await file.chmod(stats.mode & 0o7777);
    };
    return { file, restoreMode, undo: nothing };
  } catch (error) {
    await file.close();
    throw error;
  }
};

/** A dangling link: the file is created at its target, as a write through the link would do. */
const createThroughLink = async (path: string, user: User): Promise<WritableFile> => {
  const file = await openFor(user, path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY);
  return { file, restoreMode: nothing, undo: nothing };
};

const attempt = async (path: string, user: User): Promise<WritableFile> => {
  try {
    return await create(path, user);
  } catch (error) {
    if (!isErrno(error) || error.code !== 'EEXIST') throw error;
  }
  try {
    return await openExisting(path);
  } catch (error) {
    if (!isErrno(error) || error.code !== 'ENOENT') throw error;
    return createThroughLink(path, user);
  }
};

const isMissing = (error: unknown): boolean => isErrno(error) && error.code === 'ENOENT';

/** The error that a caller gets when a write to `path` has failed. */
export const toWriteError = (error: unknown, path: string): unknown => {
  if (!isErrno(error)) return error;
  switch (error.code) {
    case 'EISDIR':
      return invalid(`path "${path}" is a directory`, { cause: error });
    case 'ENXIO':
    case 'ENODEV':
      return invalid(`path "${path}" is not a regular file`, { cause: error });
    case 'ENOTDIR':
      return new ApiError('internal', `a parent of "${path}" is not a directory`, { cause: error });
    default:
      return fromErrno(error);
  }
};

/**
 * Opens a file for an upload and empties it. A new file gets mode 0644 and belongs to the user, missing parents are made;
 * an existing one keeps its mode and owner. Rejects with `invalid_argument` for a directory or special file, `internal` when a
 * parent is no directory or a link leads into one that is missing, `insufficient_storage` when the disk is full.
 */
export const openForWriting = async (path: string, user: User): Promise<WritableFile> => {
  try {
    return await attempt(path, user);
  } catch (error) {
    if (!isMissing(error)) throw toWriteError(error, path);
  }
  try {
    await makeDirectories(dirname(path), user);
    return await attempt(path, user);
  } catch (error) {
    if (isMissing(error))
      throw new ApiError('internal', `path "${path}" is a link into a directory that does not exist`, {
        cause: error,
      });
    throw toWriteError(error, path);
  }
};
