import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../../system/errno.ts';
import { createErrnoError, lib } from '../../system/libc.ts';

const cLinkat = lib.func('int linkat(int from, const char *oldPath, int to, const char *newPath, int flags)');

// linux/fcntl.h; Node does not name them.
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
const AT_FDCWD = -100;
const AT_SYMLINK_FOLLOW = 0x400;

/** A new file that is invisible to other programs until it is complete. */
export interface TemporaryFile {
  /** Open for writing, mode 0600. The caller closes it. */
  readonly file: FileHandle;
  /** Puts the file at `path` in the same folder, in place of what is there, in one step. */
  moveTo(path: string): Promise<void>;
  /** Deletes it. Does nothing after `moveTo`. */
  discard(): Promise<void>;
}

const isUnsupported = (error: unknown): boolean =>
  isErrno(error) && ['EOPNOTSUPP', 'ENOTSUP', 'EISDIR', 'EINVAL'].includes(error.code);

const createName = (folder: string): string =>
  join(folder, `.${process.getBuiltinModule('node:crypto').randomUUID()}.part`);

/**
 * Makes a file in `folder` that has no name (open(2), O_TMPFILE), so that the kernel frees it when this process dies. On file
 * systems without such files it has a hidden name from the start.
 */
export const createTemporaryFile = async (folder: string): Promise<TemporaryFile> => {
  const name = createName(folder);
  let file: FileHandle;
  let isNamed = false;
  try {
    file = await open(folder, O_TMPFILE | constants.O_WRONLY, 0o600);
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    file = await open(name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    isNamed = true;
  }
  return {
    file,
    async moveTo(path) {
      if (!isNamed) {
        // A link cannot take the place of a file, a rename can: the name in between lives for a moment.
        if (cLinkat(AT_FDCWD, `/proc/self/fd/${file.fd}`, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0)
          throw createErrnoError('linkat');
        isNamed = true;
      }
      await rename(name, path);
      isNamed = false;
    },
    async discard() {
      if (isNamed) await rm(name, { force: true });
    },
  };
};
