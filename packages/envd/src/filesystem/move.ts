import { lstat, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiError, notFound } from '@skerry/contract/error';
import { isErrno } from '../system/errno.ts';
import { makeDirectories } from '../system/make-directories.ts';
import type { User } from '../system/users.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOTEMPTY: 'the destination is a directory that is not empty',
  EEXIST: 'the destination is a directory that is not empty',
  EXDEV: 'the destination is on another device',
  EISDIR: 'the destination is a directory and the source is not',
  ENOTDIR: 'a directory cannot replace a file, or a parent is no directory',
  EINVAL: 'a directory cannot be moved into itself',
  EBUSY: 'one of the two is in use as a mount point',
};

/**
 * Renames a path in one step (rename(2)), making the destination's parents first. Replaces a file and an empty directory.
 * Rejects with `not_found` for a missing source and `internal` with the reason for anything else.
 */
export const move = async (source: string, destination: string, user: User): Promise<void> => {
  try {
    await lstat(source);
  } catch (error) {
    throw notFound(`path "${source}" not found`, { cause: error });
  }
  await makeDirectories(dirname(destination), user);
  try {
    await rename(source, destination);
  } catch (error) {
    if (!isErrno(error)) throw error;
    const reason = REASONS[error.code] ?? error.code;
    throw new ApiError('internal', `cannot move "${source}" to "${destination}": ${reason}`, {
      cause: error,
    });
  }
};
