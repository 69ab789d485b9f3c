import { lstat, rm } from 'node:fs/promises';
import { runCommand } from './run-command.ts';

/** Removing millions of files of one sandbox takes minutes. */
const LONGEST_MS = 600_000;

/**
 * Removes `path` with everything below it on the same file system; does nothing when it does not exist. Folders may be
 * nested deeper than the longest path, as a sandbox leaves them where its disk is a folder of the host. Works in
 * another thread or process. Rejects with `internal` when something cannot be removed; a further call continues from
 * there.
 */
export const removeTree = async (path: string): Promise<void> => {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return;
  if (!found.isDirectory()) return rm(path, { force: true });
  // Node passes whole paths, which the kernel refuses beyond 4,096 bytes.
  await runCommand({
    file: 'rm',
    args: ['-rf', '--one-file-system', '--', path],
    timeoutMs: LONGEST_MS,
  });
};
