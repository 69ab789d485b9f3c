import { mkdir, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDiskFormatter, discardDisk, mountDisk } from './disk.ts';

const MIB = 2 ** 20;
let dir: string;
let image: string;
let target: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'disk-'));
  image = join(dir, 'disk.ext4');
  target = join(dir, 'disk');
  await createDiskFormatter(join(dir, 'run'))(image, 64 * MIB);
  await mountDisk({ image, target });
});
afterEach(async () => {
  await discardDisk(target);
  await rm(dir, { recursive: true });
});

describe("a sandbox's disk", () => {
  it('has the requested size and takes almost nothing of the host', async () => {
    const { bsize, blocks } = await statfs(target);
    expect(bsize * blocks).toBeGreaterThan(55 * MIB);
    expect(bsize * blocks).toBeLessThanOrEqual(64 * MIB);
    expect((await stat(image)).blocks * 512).toBeLessThan(MIB);
  });

  it('refuses writes when it is full', async () => {
    await expect(writeFile(join(target, 'big'), Buffer.alloc(70 * MIB))).rejects.toMatchObject({
      code: 'ENOSPC',
    });
  });

  it('is discarded with its unwritten data, and a second time without an error', async () => {
    await writeFile(join(target, 'dirty'), Buffer.alloc(20 * MIB));
    await discardDisk(target);
    expect((await statfs(target)).bsize).toBe((await statfs(dir)).bsize);
    await expect(stat(join(target, 'dirty'))).rejects.toMatchObject({ code: 'ENOENT' });
    await discardDisk(target);
    await discardDisk(join(dir, 'never-made'));
  });

  it('changes nothing in the file system around it when nothing is mounted there', async () => {
    const plain = join(target, 'plain');
    await mkdir(plain);
    await discardDisk(plain);
    await writeFile(join(plain, 'file'), 'still writable');
    expect((await stat(join(plain, 'file'))).size).toBe(14);
  });
});
