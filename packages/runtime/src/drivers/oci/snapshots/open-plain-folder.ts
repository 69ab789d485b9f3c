import { constants, openSync } from 'node:fs';

/**
 * Opens a folder; undefined where code inside has replaced it: on a sandbox's disk, a link leads to files of the host.
 */
export const openPlainFolder = (path: string): number | undefined => {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
};
