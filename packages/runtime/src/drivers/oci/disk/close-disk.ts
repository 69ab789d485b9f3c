import { execFile } from 'node:child_process';
import { close, closeSync, openSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import { systemPath } from '../../../kernel/run-command.ts';
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

const run = promisify(execFile);

const BUSY_DEADLINE_MS = 5_000;

/**
 * Writes out what is mounted at `target`, which stays in use. Rejects with `exhausted` when some of it cannot be written, or
 * could not a while ago: a loop device says EIO of a host that is full, and once for all that it lost.
 */
export const flushDisk = async (target: string): Promise<void> => {
  const fd = openSync(target, 'r');
  try {
    await syncFiles(fd);
  } catch (error) {
    throw new RuntimeError('exhausted', 'the host had no room for what the sandbox wrote', { cause: error });
  } finally {
    closeSync(fd);
  }
};

/**
 * Resolves when everything is in the image, the image is on the medium and whole, and nothing is mounted at `target`,
 * which is gone. Nobody may use the disk any more. Idempotent, and right after a power cut too.
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
      // Nothing changes the image any more. Forgetting the file system and its device takes the kernel several waits for all
      // processors, for which nobody has to wait. Nothing was written by it that could be lost, and without somebody to tell
      // of a failure Node throws it where nothing catches it.
      close(held, () => undefined);
    }
  }
  await rmdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (!(await isCleanDisk(image))) await repair(image);
  // Of a process before us, it may not be on the medium yet; otherwise there is nothing left to write.
  await syncPath(image);
};

/**
 * Makes the file system read-only, for whoever else still sees it too: a process that has just started has a copy of
 * the host's mounts for some milliseconds. From here on nothing can change the image behind our back.
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

/** Its exit status is a set of bits: e2fsck(8). */
const CORRECTED = 1 | 2;

/**
 * Mends, without asking, what a power cut left, or a copy that was made while the file system was mounted. Rejects with
 * `internal` when that would cost files, with `exhausted` when somebody killed the program.
 */
export const repair = async (image: string): Promise<void> => {
  try {
    await run('e2fsck', ['-p', image], { env: { PATH: systemPath } });
  } catch (error) {
    const { code, signal, stdout } = error as {
      code?: number | string;
      signal?: NodeJS.Signals | null;
      stdout?: string;
    };
    if (signal === 'SIGKILL')
      throw new RuntimeError('exhausted', 'e2fsck was killed, as on a host without memory', { cause: error });
    if (typeof code === 'number' && (code & ~CORRECTED) === 0) return;
    throw new RuntimeError('internal', `the disk ${image} cannot be mended: ${stdout?.trim()}`, {
      cause: error,
    });
  }
};
