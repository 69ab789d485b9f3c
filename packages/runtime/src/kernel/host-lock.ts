import { constants, type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { runCommand } from './run-command.ts';

/**
 * Runs `work` while no other process of this host runs work under the same folder. The lock ends with this process,
 * however that ends, and `work` may remove the folder.
 */
export async function withHostLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const lock = await acquire(dir);
  try {
    return await work();
  } finally {
    await lock.close();
  }
}

async function acquire(dir: string): Promise<FileHandle> {
  for (;;) {
    const handle = await openFolder(dir);
    if (handle === undefined) continue;
    try {
      // flock(2) belongs to the open file description, which the command shares with us: the lock stays after it ends.
      await runCommand({ file: 'flock', args: ['--exclusive', '3'], fds: [handle.fd], timeoutMs: 60_000 });
      if (await isStillThere(handle, dir)) return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
    // The holder before us removed the folder: what we hold locks nobody out.
    await handle.close();
  }
}

/** Undefined when a holder removed the folder meanwhile, which even a recursive mkdir can run into. */
async function openFolder(dir: string): Promise<FileHandle | undefined> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isStillThere(handle: FileHandle, dir: string): Promise<boolean> {
  const [held, named] = await Promise.all([handle.stat(), stat(dir).catch(() => undefined)]);
  return named !== undefined && held.ino === named.ino && held.dev === named.dev;
}
