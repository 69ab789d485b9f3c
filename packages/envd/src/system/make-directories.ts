import { lchown, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiError } from '@skerry/contract/error';
import { isErrno } from './errno.ts';
import type { User } from './users.ts';

/**
 * Creates a directory and its missing parents with mode 0755, owned by the user. Existing ones stay as they are. Rejects with
 * `internal` when something that is no directory is in the way.
 */
export const makeDirectories = async (path: string, user: User): Promise<void> => {
  try {
    await mkdir(path, 0o755);
  } catch (error) {
    if (!isErrno(error)) throw error;
    if (error.code === 'ENOENT' && path !== '/') {
      await makeDirectories(dirname(path), user);
      return makeDirectories(path, user);
    }
    if (error.code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (error.code === 'EEXIST' || error.code === 'ENOTDIR') {
      throw new ApiError('internal', `path "${path}" is not a directory`, { cause: error });
    }
    throw error;
  }
  await lchown(path, user.uid, user.gid);
};
