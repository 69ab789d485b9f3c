import { mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDiskFormatter, discardDisk, mountDisk } from '../disk/disk.ts';
import { proveBound } from './prove-bound.ts';

const MIB = 2 ** 20;
let dir: string;
let disk: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'prove-bound-'));
  disk = join(dir, 'disk');
  const image = join(dir, 'disk.ext4');
  await createDiskFormatter(dir)(image, 16 * MIB);
  await mountDisk({ image, target: disk });
});
afterAll(async () => {
  await discardDisk(disk);
  await rm(dir, { recursive: true, force: true });
});

const freeBytes = async (): Promise<number> => {
  const { bavail, bsize } = await statfs(disk);
  return bavail * bsize;
};

describe('the proof that a disk is bounded', () => {
  it('leaves the disk with the same files and free space as before', async () => {
    const [names, free] = [await readdir(disk), await freeBytes()];
    await proveBound(disk, 16 * MIB);
    expect(await readdir(disk)).toEqual(names);
    expect(await freeBytes()).toBe(free);
    await writeFile(join(disk, 'next'), Buffer.alloc(MIB));
    await rm(join(disk, 'next'));
  });

  it('rejects for a disk that is larger than allowed', async () => {
    const names = await readdir(disk);
    await expect(proveBound(disk, MIB)).rejects.toThrow(/a disk of 1048576 bytes holds \d+/);
    expect(await readdir(disk)).toEqual(names);
  });
});
