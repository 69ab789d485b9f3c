import { open } from 'node:fs/promises';
import { RuntimeError } from '../error.ts';
import { CommandError, runCommand } from '../kernel/run-command.ts';

const NOBODY = '65534';
const DEADLINE_S = 900;
const MEMORY_BYTES = 4 * 2 ** 30;

/** A program that reads hostile bytes: no user of this host, no capabilities, and bounds of memory and time. */
const confined = [
  ...[`--as=${MEMORY_BYTES}`, `--cpu=${DEADLINE_S}`, '--core=0', 'setpriv'],
  ...[`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all'],
];

/**
 * Checks the whole file system of an image that another host has made, before the kernel mounts it: the kernel trusts what it mounts.
 * The image is in a folder that other users cannot enter, and is not written to meanwhile. Rejects with `damaged` and what e2fsck found.
 */
export const checkFileSystem = async (
  image: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> => {
  await using file = await open(image, 'r+');
  const { mode } = await file.stat();
  // The program opens the file again, through its descriptor.
  await file.chmod(0o644);
  try {
    await runCommand({
      file: 'prlimit',
      args: [...confined, 'e2fsck', '-f', '-n', '/proc/self/fd/3'],
      fds: [file.fd],
      timeoutMs: DEADLINE_S * 1_000,
      signal,
    });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const found = error.stdout.trim().slice(-500);
    throw new RuntimeError('damaged', `its file system is damaged: ${found}`, { cause: error });
  } finally {
    await file.chmod(mode & 0o777);
  }
};
