import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, readFile, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { copyDisk } from './copy-disk.ts';

const MIB = 2 ** 20;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-copy-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('leaves nothing of an earlier copy, also where the image has become a hole', async () => {
  const [image, copy] = [join(folder, 'image'), join(folder, 'copy')];
  await writeFile(image, Buffer.alloc(6 * MIB, 'old'));
  await truncate(image, 8 * MIB);
  await copyDisk(image, copy);
  for (const [offset, length] of [
    [0, 4096],
    [MIB, 3 * MIB],
    [6 * MIB - 8192, 8192],
  ])
    execFileSync('fallocate', [
      '--punch-hole',
      '--offset',
      String(offset),
      '--length',
      String(length),
      image,
    ]);
  {
    await using file = await open(image, 'r+');
    await file.write('new', 2 * MIB);
    await file.write('new', 7 * MIB);
  }
  await copyDisk(image, copy);
  expect((await readFile(copy)).equals(await readFile(image))).toBe(true);
});
