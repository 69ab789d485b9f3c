import { mkdtempSync, rmSync } from 'node:fs';
import { open, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hashSparse } from './hash-sparse.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-hash-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The hash of a file of that size that has these bytes at these places, and holes elsewhere. */
const hashOf = async (sizeBytes: number, pieces: [offset: number, bytes: Buffer][]): Promise<string> => {
  const path = join(folder, 'file');
  await writeFile(path, '');
  await truncate(path, sizeBytes);
  await using file = await open(path, 'r+');
  for (const [offset, bytes] of pieces) await file.write(bytes, 0, bytes.length, offset);
  return await hashSparse(file);
};

const letters = Buffer.alloc(3_000_000, 'abcdefg');

it('tells bytes and places apart', async () => {
  const sizeBytes = 5_000_000;
  const found = [
    await hashOf(sizeBytes, []),
    await hashOf(sizeBytes, [[0, letters]]),
    await hashOf(sizeBytes, [[4096, letters]]),
    await hashOf(sizeBytes, [[0, Buffer.concat([letters, Buffer.of(1)])]]),
    await hashOf(sizeBytes, [
      [0, letters],
      [sizeBytes - 1, Buffer.of(1)],
    ]),
  ];
  expect(new Set(found).size).toBe(found.length);
});

it('takes a hole and zeros for the same', async () => {
  const sparse = await hashOf(3_000_000, [[2_000_000, Buffer.from('x')]]);
  expect(
    await hashOf(3_000_000, [
      [0, Buffer.alloc(2_000_000)],
      [2_000_000, Buffer.from('x')],
    ]),
  ).toBe(sparse);
});

it('costs nothing for what was never written', async () => {
  const terabytes = 4 * 2 ** 40;
  const startedMs = performance.now();
  expect(await hashOf(terabytes, [[terabytes - 1, Buffer.from('x')]])).not.toBe(await hashOf(terabytes, []));
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});
