import { createHash } from 'node:crypto';
import { mkdir, rmdir, stat } from 'node:fs/promises';
import { runCommand } from '../../../kernel/run-command.ts';
import { syncPath } from '../../../kernel/sync-path.ts';
import { MountFlag, mount, unmountEvery } from '../../../kernel/syscalls.ts';
import { flushDisk } from './close-disk.ts';
import type { Disks } from './disks.ts';

/** How long a count of what is used is good: there is no cheaper one than looking at every file. */
const COUNT_MS = 60_000;
/** Nobody has asked for so long: it is most likely gone. */
const FORGET_MS = 10 * COUNT_MS;

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
      const now = Date.now();
      for (const [path, { at }] of counts) if (now - at > FORGET_MS) counts.delete(path);
      const known = counts.get(image);
      if (known && now - known.at < COUNT_MS) return known.bytes;
      // One that takes too long says nothing new.
      const bytes = countBytes(image).catch(() => known?.bytes ?? 0);
      counts.set(image, { bytes, at: now });
      return bytes;
    },
  };
};

const countBytes = async (path: string): Promise<number> => {
  const args = ['--summarize', '--one-file-system', '--block-size=1', path];
  // 1: a file went away while it looked at its folder.
  return Number.parseInt(await runCommand({ file: 'du', args, exitCodes: [0, 1] }), 10) || 0;
};
