import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDiskFormatter, discardDisk, mountDisk } from './disk.ts';
import { createRepeatedCopy } from './repeated-copy.ts';

const MIB = 2 ** 20;
let dir: string;
let [disk, image, to]: [string, string, string] = ['', '', ''];
let copy: () => Promise<void>;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copy-'));
  [disk, image, to] = [join(dir, 'disk'), join(dir, 'disk.ext4'), join(dir, 'copy')];
  await createDiskFormatter(join(dir, 'run'))(image, 64 * MIB);
  await mountDisk({ image, target: disk });
  copy = createRepeatedCopy({ disk, image, to });
});
afterEach(async () => {
  await discardDisk(disk);
  await rm(dir, { recursive: true });
});

const isSame = (): boolean => readFileSync(to).equals(readFileSync(image));
/** Distinguishes a copy from one that was copied over. */
const spoil = (): void => {
  const file = openSync(to, 'r+');
  writeSync(file, 'spoiled', 0);
  closeSync(file);
};

describe('a copy of a disk in use that is made repeatedly', () => {
  it('contains everything that was written before each call', async () => {
    await copy();
    expect(isSame()).toBe(true);
    const changes = [
      () => writeFile(join(disk, 'file'), Buffer.alloc(3 * MIB, 'a')),
      () => writeFile(join(disk, 'file'), 'b', { flag: 'r+' }),
      async () => {
        await using file = await open(join(disk, 'file'), 'r+');
        await file.truncate(MIB);
      },
      () => rm(join(disk, 'file')),
    ];
    for (const change of changes) {
      await change();
      await copy();
      expect(isSame()).toBe(true);
    }
  });

  it('is left unchanged when nothing was written since, and only then', async () => {
    await writeFile(join(disk, 'file'), 'a');
    await copy();
    spoil();
    await Promise.all([copy(), copy()]);
    expect(isSame()).toBe(false);
    await writeFile(join(disk, 'file'), 'b');
    await copy();
    expect(isSame()).toBe(true);
  });

  it('is tried again by the next call after a failure', async () => {
    const failing = createRepeatedCopy({ disk, image, to: join(dir, 'later/copy') });
    await expect(failing()).rejects.toMatchObject({ code: 'ENOENT' });
    await mkdir(join(dir, 'later'));
    await failing();
    expect(readFileSync(join(dir, 'later/copy')).equals(readFileSync(image))).toBe(true);
  });
});
