import { lstat, rm } from 'node:fs/promises';
import { runCommand } from './run-command.ts';

/** Millions of files of one sandbox take their time. */
const LONGEST_MS = 600_000;

/**
 * Removes what is at `path`, with all that is in it and on the same file system; does nothing where nothing is. Folders may be nested
 * deeper than a path can be long, as a sandbox leaves them where its disk is a folder of the host. Works in another thread or
 * process. Rejects with `internal` when something cannot be removed; called again, it goes on from there.
 */
export const removeTree = async (path: string): Promise<void> => {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return;
  if (!found.isDirectory()) return rm(path, { force: true });
  // Node names everything by its whole path, which the kernel refuses beyond 4,096 bytes.
  await runCommand({
    file: 'rm',
    args: ['-rf', '--one-file-system', '--', path],
    timeoutMs: LONGEST_MS,
  });
};
