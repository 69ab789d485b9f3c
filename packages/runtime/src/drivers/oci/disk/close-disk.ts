import { close, closeSync, openSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import { CommandError, runCommand } from '../../../kernel/run-command.ts';
import { syncPath } from '../../../kernel/sync-path.ts';
import {
  MountFlag,
  mountAside,
  O_PATH,
  SyscallError,
  syncFiles,
  unmountEveryAside,
} from '../../../kernel/syscalls.ts';
import { isMountPoint } from './disk.ts';
import { isCleanDisk } from './kept-disk.ts';

const BUSY_DEADLINE_MS = 5_000;

/**
 * Writes out what is mounted at `target`, which stays in use. Rejects with `exhausted` when a part cannot be written,
 * or could not be written a while ago: a loop device reports EIO for a full host, and once for all lost writes.
 */
export const flushDisk = async (target: string): Promise<void> => {
  const fd = openSync(target, 'r');
  try {
    await syncFiles(fd);
  } catch (error) {
    throw new RuntimeError('exhausted', 'the host has no room for what the sandbox wrote', { cause: error });
  } finally {
    closeSync(fd);
  }
};

/**
 * Resolves when everything is in the image, the image is on the medium and undamaged, and the mount at `target` with
 * its folder is removed. The disk must not be in use. Idempotent, and correct after a power cut too.
 */
export const closeDisk = async (options: { image: string; target: string }): Promise<void> => {
  const { image, target } = options;
  if (isMountPoint(target)) {
    await flushDisk(target);
    await refuseWrites(target);
    const held = openSync(target, O_PATH);
    try {
      await settleAll([unmountEveryAside(target), syncPath(image)]);
    } finally {
      // Nothing changes the image any more. Closing frees the file system and its device, for which the kernel waits
      // several times for all processors: no caller needs to wait for that. Nothing is lost when it fails, and without
      // a callback Node would throw the error where nothing catches it.
      close(held, () => undefined);
    }
  }
  await rmdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (!(await isCleanDisk(image))) await repair(image);
  // After an earlier process it may not be on the medium yet; otherwise there is nothing left to write.
  await syncPath(image);
};

/**
 * Makes the file system read-only in every mount namespace: a process that has just started has a copy of the host's
 * mounts for some milliseconds. From here on the image cannot change.
 */
const refuseWrites = async (target: string): Promise<void> => {
  const deadline = Date.now() + BUSY_DEADLINE_MS;
  for (;;) {
    try {
      await mountAside({
        source: 'none',
        target,
        type: 'ext4',
        flags:
          MountFlag.remount |
          MountFlag.readOnly |
          MountFlag.nosuid |
          MountFlag.nodev |
          MountFlag.noexec |
          MountFlag.noatime,
        data: '',
      });
      return;
    } catch (error) {
      // The kernel closes the files of a process a moment after its end.
      if (!(error instanceof SyscallError && error.code === 'EBUSY') || Date.now() > deadline) throw error;
      await sleep(2);
    }
  }
};

// The exit status is a set of bits, of which 1 and 2 mean that everything was corrected: e2fsck(8).
const CORRECTED = [0, 1, 2, 3];
const REPAIR_DEADLINE_MS = 600_000;

/**
 * Repairs, without asking, what a power cut left, or a copy that was made while the file system was mounted. Rejects
 * with `internal` when that would lose files, and with `exhausted` when another process killed the program.
 */
export const repair = async (image: string): Promise<void> => {
  try {
    await runCommand({
      file: 'e2fsck',
      args: ['-p', image],
      exitCodes: CORRECTED,
      timeoutMs: REPAIR_DEADLINE_MS,
    });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new RuntimeError('internal', `the disk ${image} cannot be repaired: ${error.stdout.trim()}`, {
      cause: error,
    });
  }
};
