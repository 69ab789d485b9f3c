import { createHash } from 'node:crypto';
import { mkdir, rmdir, stat, statfs } from 'node:fs/promises';
import { syncPath } from '../../../kernel/sync-path.ts';
import { MountFlag, mount, unmountEvery } from '../../../kernel/syscalls.ts';
import { countBytes } from '../../count-bytes.ts';
import { flushDisk } from './close-disk.ts';
import type { Disks } from './disks.ts';

/** How long a measured usage is valid: the only way to measure is to look at every file. */
const COUNT_MS = 60_000;
/** After so long without a request the instance has most likely ended. */
const FORGET_MS = 10 * COUNT_MS;

/**
 * Disks without bounds, for users without loop devices: plain folders of the host's file system, which each of them can
 * fill.
 */
export const createFolderDisks = (): Disks => {
  const counts = new Map<string, { bytes: Promise<number>; at: number }>();

  const countUsed = async (image: string): Promise<number> => {
    const now = Date.now();
    for (const [path, { at }] of counts) if (now - at > FORGET_MS) counts.delete(path);
    const known = counts.get(image);
    if (known && now - known.at < COUNT_MS) return known.bytes;
    // A measurement that takes too long yields no new value.
    const bytes = countBytes(image).catch(() => known?.bytes ?? 0);
    counts.set(image, { bytes, at: now });
    return bytes;
  };

  return {
    make: (image) => mkdir(image, { mode: 0o700 }).then(() => undefined),
    open: async ({ image, target }) => {
      await mkdir(target, { mode: 0o700 });
      mount({ source: image, target, type: '', flags: MountFlag.bind, data: '' });
    },
    close: async ({ image, target }) => {
      await flushDisk(image);
      unmountEvery(target);
      await rmdir(target).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
      await syncPath(image);
    },
    show: async ({ image }) => image,
    describe: async (image) => {
      const { mtimeNs } = await stat(image, { bigint: true });
      const parts = ['upper', 'work'].map(async (name) => {
        const { ino, mtimeNs: modified } = await stat(`${image}/${name}`, { bigint: true });
        return `${name} ${ino} ${modified}`;
      });
      const head = (await Promise.all(parts)).join('\n');
      return {
        sizeBytes: 0,
        modifiedNs: String(mtimeNs),
        headSha256: createHash('sha256').update(head).digest('hex'),
      };
    },
    measure: async ({ disk, image }) => {
      const [diskBytes, freeDiskBytes] = await Promise.all([countUsed(image), readFree(disk)]);
      return { diskBytes, freeDiskBytes };
    },
  };
};

const readFree = (disk: string): Promise<number> =>
  statfs(disk).then(
    ({ bsize, bavail }) => bsize * bavail,
    // At rest.
    () => 0,
  );
