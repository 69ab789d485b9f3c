import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { ApiError, invalid, notFound } from '@skerry/contract/error';
import { isErrno } from '../../system/errno.ts';

const toOpenError = (error: unknown, path: string): unknown => {
  if (!isErrno(error)) return error;
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return notFound(`file "${path}" not found`, { cause: error });
    case 'ENXIO':
    case 'ENODEV':
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return invalid(`path "${path}" cannot be opened as a file`, { cause: error });
    default:
      return new ApiError('internal', `file "${path}" cannot be opened: ${error.code}`, { cause: error });
  }
};

const requireRegular = (path: string, stats: Stats): void => {
  if (!stats.isFile())
    throw invalid(`path "${path}" is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}`);
};

/**
 * Opens a file for reading, through symbolic links. Rejects with `not_found`, and `invalid_argument` for anything but a regular
 * file. A FIFO is not opened: that would wake a program that waits to write into it. A special file that replaces the path between
 * the check and the open holds no thread either: the open does not wait for another side.
 */
export const openRegularFile = async (path: string): Promise<{ file: FileHandle; stats: Stats }> => {
  let file: FileHandle;
  try {
    requireRegular(path, await stat(path));
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    throw toOpenError(error, path);
  }
  try {
    const stats = await file.stat();
    requireRegular(path, stats);
    return { file, stats };
  } catch (error) {
    await file.close();
    throw error;
  }
};
