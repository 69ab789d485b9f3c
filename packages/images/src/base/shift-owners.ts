import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

/**
 * Gives every entry of a tree to the user and group whose numbers are higher by `by`. Modes stay; what a program may do
 * by its file alone (capabilities(7)) does not, as the kernel drops that with each change of owner. Rejects with the
 * reason of `signal`, some of the tree being shifted then.
 */
export async function shiftOwners(
  root: string,
  { by, signal }: { by: number; signal?: AbortSignal | undefined },
): Promise<void> {
  const done = new Set<number>();

  const shift = (path: string): void => {
    const { uid, gid, mode, ino, nlink } = lstatSync(path);
    const isFolder = (mode & 0o170000) === 0o040000;
    // A second name of the same file.
    if (!isFolder && nlink > 1) {
      if (done.has(ino)) return;
      done.add(ino);
    }
    lchownSync(path, uid + by, gid + by);
    // The kernel takes these bits away with the owner.
    if ((mode & 0o170000) === 0o100000 && (mode & 0o6000) !== 0) chmodSync(path, mode & 0o7777);
  };

  const walk = async (folder: string): Promise<void> => {
    // Lets timers, sockets and the abort of the caller in between.
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
