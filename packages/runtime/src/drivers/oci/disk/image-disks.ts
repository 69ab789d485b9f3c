import { closeSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { mountShifted } from '../../../kernel/shifted-mount.ts';
import { openUnshift } from '../../../kernel/user-namespace.ts';
import { closeDisk } from './close-disk.ts';
import { createDiskFormatter, mountDisk } from './disk.ts';
import type { Disks } from './disks.ts';
import { describeDisk } from './kept-disk.ts';

const BLOCK_BYTES = 512;

/** Bounded disks: each a file system of its own in a sparse image, on a loop device while in use. */
export const createImageDisks = (scratchDir: string): Disks => ({
  make: createDiskFormatter(scratchDir),
  open: mountDisk,
  close: closeDisk,
  show: async ({ image, target, baseId }) => {
    await mountDisk({ image, target, readOnly: true });
    const userNamespace = await openUnshift(baseId);
    try {
      mountShifted({ source: target, target, userNamespace });
    } finally {
      closeSync(userNamespace);
    }
    return target;
  },
  describe: describeDisk,
  measure: async ({ disk, image }) => {
    try {
      const { bsize, blocks, bfree, bavail } = await statfs(disk);
      return { diskBytes: bsize * (blocks - bfree), freeDiskBytes: bsize * bavail };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    // Report the space of the image on the host while it is not mounted.
    const diskBytes = await stat(image).then(
      ({ blocks }) => blocks * BLOCK_BYTES,
      () => 0,
    );
    return { diskBytes, freeDiskBytes: 0 };
  },
});
