import { createCipheriv, createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFingerprintKey, type FingerprintKey, readFingerprint } from './fingerprint.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-fingerprint-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const key = { key: createFingerprintKey(), label: 'file' };
const fingerprintOf = async (bytes: Buffer, withKey: FingerprintKey = key) => {
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  return readFingerprint(path, withKey);
};

const bytes = Buffer.alloc(3 * 2 ** 20 + 5, 'abcdefg');

it('is equal for equal bytes, and differs for another bit or byte, or for parts in another order', async () => {
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

it('differs for files of zeros of different sizes', async () => {
  const [empty, one, two] = [
    await fingerprintOf(Buffer.alloc(0)),
    await fingerprintOf(Buffer.alloc(16)),
    await fingerprintOf(Buffer.alloc(17)),
  ];
  expect([empty.sizeBytes, one.sizeBytes, two.sizeBytes]).toEqual([0, 16, 17]);
  expect(new Set([empty.mac, one.mac, two.mac]).size).toBe(3);
});

it('depends on the key', async () => {
  const other = { ...key, key: createFingerprintKey() };
  expect((await fingerprintOf(bytes, other)).mac).not.toBe((await fingerprintOf(bytes)).mac);
});

it('uses a nonce of its own for each label', async () => {
  const empty = Buffer.alloc(0);
  const macs: string[] = [];
  // Use no bytes: their code is the encrypted nonce alone.
  for (const label of ['one', 'other', 'one']) macs.push((await fingerprintOf(empty, { ...key, label })).mac);
  expect(new Set(macs).size).toBe(2);
  expect(macs[2]).toBe(macs[0]);
});

it('is the GMAC of all bytes, with a nonce made of the label, as fingerprints on disk have it', async () => {
  const keyText = '00112233445566778899aabbccddeeff';
  const gmac = (nonce: Buffer, content: Buffer): string => {
    const cipher = createCipheriv('aes-128-gcm', Buffer.from(keyText, 'hex'), nonce);
    cipher.setAAD(content);
    cipher.final();
    return cipher.getAuthTag().toString('hex');
  };
  const ofLabel = createHash('sha256').update('pages-1.img').digest().subarray(0, 12);
  for (const content of [bytes, bytes.subarray(0, 1), bytes.subarray(0, 2 ** 20), Buffer.alloc(0)]) {
    const labelled = await fingerprintOf(content, { key: keyText, label: 'pages-1.img' });
    expect(labelled).toEqual({ sizeBytes: content.length, mac: gmac(ofLabel, content) });
  }
});

it('has a key of 16 bytes, another one each time', () => {
  const keys = [createFingerprintKey(), createFingerprintKey()];
  for (const one of keys) expect(one).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[0]).not.toBe(keys[1]);
});
