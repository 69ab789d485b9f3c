import { createHash } from 'node:crypto';
import { mkdir, rmdir, stat } from 'node:fs/promises';
import { runCommand } from '../../run-command.ts';
import { flushDisk } from './close-disk.ts';
import type { Disks } from './disks.ts';
import { syncPath } from './sync-path.ts';
import { MountFlag, mount, unmountEvery } from './syscalls.ts';

/** How long a count of what is used is good: there is no cheaper one than looking at every file. */
const COUNT_MS = 60_000;

/**
 * Disks without bounds, for who may not have loop devices: plain folders of the host's file system. Each can fill that
 * one up.
 */
export const createFolderDisks = (): Disks => {
  const counts = new Map<string, { bytes: Promise<number>; at: number }>();

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
    usedBytes: async ({ image }) => {
      const known = counts.get(image);
      if (known && Date.now() - known.at < COUNT_MS) return known.bytes;
      const bytes = countBytes(image);
      counts.set(image, { bytes, at: Date.now() });
      return bytes;
    },
  };
};

const countBytes = async (path: string): Promise<number> => {
  const args = ['--summarize', '--one-file-system', '--block-size=1', path];
  // A file that goes away while du looks at its folder is no reason to know nothing of the others.
  return runCommand({ file: 'du', args }).then(
    (out) => Number.parseInt(out, 10),
    () => 0,
  );
};
