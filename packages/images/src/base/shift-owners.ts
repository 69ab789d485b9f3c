import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

/**
 * Changes the owner and group of every entry of a tree to ids that are higher by `by`. Modes stay; file capabilities
 * (capabilities(7)) do not, as the kernel drops them with each change of owner. Rejects with the reason of `signal`; a
 * part of the tree is shifted then.
 */
export async function shiftOwners(
  root: string,
  { by, signal }: { by: number; signal?: AbortSignal | undefined },
): Promise<void> {
  const done = new Set<number>();

  const shift = (path: string): void => {
    const { uid, gid, mode, ino, nlink } = lstatSync(path);
    const isFolder = (mode & 0o170000) === 0o040000;
    // A hard link to a file that was shifted.
    if (!isFolder && nlink > 1) {
      if (done.has(ino)) return;
      done.add(ino);
    }
    lchownSync(path, uid + by, gid + by);
    // The kernel clears these bits with a change of owner.
    if ((mode & 0o170000) === 0o100000 && (mode & 0o6000) !== 0) chmodSync(path, mode & 0o7777);
  };

  const walk = async (folder: string): Promise<void> => {
    // Yields to timers, sockets and the abort of the caller.
    await setImmediate();
    signal?.throwIfAborted();
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      shift(path);
      if (entry.isDirectory()) await walk(path);
    }
  };
  shift(root);
  await walk(root);
}
