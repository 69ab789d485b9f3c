import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFingerprintKey, readFingerprint } from './fingerprint.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-fingerprint-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const key = createFingerprintKey();
const fingerprintOf = async (bytes: Buffer, withKey = key) => {
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  return readFingerprint(path, withKey);
};

const bytes = Buffer.alloc(3 * 2 ** 20 + 5, 'abcdefg');

it('is the same for the same bytes, and another for a bit, a byte or a part that changed place', async () => {
  const altered = [0, 2 ** 20 - 1, bytes.length - 1].map((at) => {
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  });
  const swapped = Buffer.concat([bytes.subarray(2 ** 20), bytes.subarray(0, 2 ** 20)]);
  const first = await fingerprintOf(bytes);
  expect(await fingerprintOf(bytes)).toEqual(first);
  const macs = [first.mac];
  for (const other of [...altered, swapped]) macs.push((await fingerprintOf(other)).mac);
  expect(new Set(macs).size).toBe(5);
});

it('tells files of zeros apart by their size', async () => {
  const [empty, one, two] = [
    await fingerprintOf(Buffer.alloc(0)),
    await fingerprintOf(Buffer.alloc(16)),
    await fingerprintOf(Buffer.alloc(17)),
  ];
  expect([empty.sizeBytes, one.sizeBytes, two.sizeBytes]).toEqual([0, 16, 17]);
  expect(new Set([empty.mac, one.mac, two.mac]).size).toBe(3);
});

it('depends on the key', async () => {
  const other = createFingerprintKey();
  expect((await fingerprintOf(bytes, other)).mac).not.toBe((await fingerprintOf(bytes)).mac);
});
