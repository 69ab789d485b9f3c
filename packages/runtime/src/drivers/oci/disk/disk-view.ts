import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { cloneTree, unmountEvery } from '../../../kernel/syscalls.ts';
import { mountDisk } from './disk.ts';

const prefix = 'view-';

/** Unmounts what an earlier process was reading when it was killed. */
export const sweepDiskViews = (scratchDir: string): void => {
  mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(scratchDir)) {
    if (!name.startsWith(prefix)) continue;
    unmountEvery(`${scratchDir}/${name}`);
    rmdirSync(`${scratchDir}/${name}`);
  }
};

/**
 * Calls `look` with a path of the files of an image, mounted read-only, which must not be mounted for writing. The path
 * is valid in this process until `look` has ended; the mount ends with the process.
 */
export const withDiskView = async <T>(
  { image, scratchDir }: { image: string; scratchDir: string },
  look: (path: string) => Promise<T>,
): Promise<T> => {
  const target = `${scratchDir}/${prefix}${randomUUID()}`;
  let tree: number;
  try {
    await mountDisk({ image, target, readOnly: true });
    tree = cloneTree(target);
  } finally {
    unmountEvery(target);
    await rmdir(target);
  }
  try {
    return await look(`/proc/self/fd/${tree}`);
  } finally {
    closeSync(tree);
  }
};
