import { readFileSync, writeFileSync } from 'node:fs';
import { MAX_OPEN_FILES, oomScorePath, readOpenFilesLimit } from '../kernel/inherited-limits.ts';
import { SyscallError, setLimit } from '../kernel/syscalls.ts';

/**
 * Puts this process into one state however it was started (a shell, a service manager, ssh), because sandboxes inherit it:
 * umask 022, no core files, as many open files as this host allows but at most 1,048,576, and an OOM score of 0. Without
 * CAP_SYS_RESOURCE the hard limit of open files stays what it is if it is lower, and so does an OOM score above 0 that was set by
 * a process that had it.
 * @throws SyscallError
 */
export const normalizeProcess = (): void => {
  // Root inside a sandbox is an ordinary user of the host and must be able to traverse the folders that this process makes.
  process.umask(0o022);
  setLimit('coreBytes', 0);
  try {
    setLimit('openFiles', MAX_OPEN_FILES);
  } catch (error) {
    if (!(error instanceof SyscallError && error.code === 'EPERM')) throw error;
    setLimit('openFiles', readOpenFilesLimit());
  }
  resetOomScore();
};

/**
 * Leaves the score of this process at 0. With CAP_SYS_RESOURCE 0 is its lower bound as well, which a restored process takes over
 * with the score: with a bound below 0, programs in a sandbox could protect themselves at the expense of the host.
 */
export const resetOomScore = (path = oomScorePath): void => {
  if (Number(readFileSync(path, 'utf8')) === 0) return;
  try {
    writeFileSync(path, '0');
  } catch (error) {
    // The lower bound of the score is above 0, and going below it takes CAP_SYS_RESOURCE.
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
  }
};
