import { createHash } from 'node:crypto';
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

/** The hash of a file of that size with these bytes at these offsets, and holes elsewhere. */
const hashOf = async (sizeBytes: number, pieces: [offset: number, bytes: Buffer][]): Promise<string> => {
  const path = join(folder, 'file');
  await writeFile(path, '');
  await truncate(path, sizeBytes);
  await using file = await open(path, 'r+');
  for (const [offset, bytes] of pieces) await file.write(bytes, 0, bytes.length, offset);
  return await hashSparse(file);
};

const letters = Buffer.alloc(3_000_000, 'abcdefg');

it('differs for other bytes and other offsets', async () => {
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

it('is that of each block that is not zero, behind its offset, in order', async () => {
  const sizeBytes = 3_000_001;
  const pieces: [number, Buffer][] = [
    [10_000, letters.subarray(0, 1_500_000)],
    [2_500_000, Buffer.from('x')],
    [sizeBytes - 1, Buffer.from('y')],
  ];
  const content = Buffer.alloc(sizeBytes);
  for (const [offset, bytes] of pieces) bytes.copy(content, offset);
  const hash = createHash('sha256');
  for (let at = 0; at < sizeBytes; at += 4096) {
    const block = content.subarray(at, at + 4096);
    const place = Buffer.alloc(8);
    place.writeBigUInt64LE(BigInt(at));
    if (!block.equals(Buffer.alloc(block.length))) hash.update(place).update(block);
  }
  expect(await hashOf(sizeBytes, pieces)).toBe(hash.digest('hex'));
});

it('ends when its signal aborts, with the reason', async () => {
  const path = join(folder, 'file');
  await writeFile(path, letters);
  await using file = await open(path, 'r');
  const why = new Error('enough');
  await expect(hashSparse(file, AbortSignal.abort(why))).rejects.toBe(why);
});

it('is equal for a hole and for zeros', async () => {
  const sparse = await hashOf(3_000_000, [[2_000_000, Buffer.from('x')]]);
  expect(
    await hashOf(3_000_000, [
      [0, Buffer.alloc(2_000_000)],
      [2_000_000, Buffer.from('x')],
    ]),
  ).toBe(sparse);
});

it('costs nothing for data that was never written', async () => {
  const terabytes = 4 * 2 ** 40;
  // Measure time of the processor: the clock goes on while other processes have it.
  const before = process.cpuUsage();
  expect(await hashOf(terabytes, [[terabytes - 1, Buffer.from('x')]])).not.toBe(await hashOf(terabytes, []));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(5_000);
});
