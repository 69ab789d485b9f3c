import { createHash } from 'node:crypto';
import { mkdtemp, open, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeDisk, isCleanDisk, type KeptDisk, verifyDisk } from './kept-disk.ts';

let dir: string;
let image: string;
let kept: KeptDisk;
const writtenAt = new Date('2026-01-02T03:04:05Z');

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kept-'));
  image = join(dir, 'disk');
  await writeFile(image, Buffer.alloc(64 * 1024, 'd'));
  await utimes(image, writtenAt, writtenAt);
  kept = await describeDisk(image);
});
afterEach(() => rm(dir, { recursive: true }));

/** Writes into the disk and sets its time back, as a program does that hides its change. */
const writeAt = async (offset: number, text: string): Promise<void> => {
  await using file = await open(image, 'r+');
  await file.write(Buffer.from(text), 0, text.length, offset);
  await file.utimes(writtenAt, writtenAt);
};
const verify = (description: KeptDisk | undefined = kept): Promise<void> =>
  verifyDisk({ describe: describeDisk }, image, description);
const refused = (what: string) => ({ code: 'internal', message: expect.stringContaining(what) });

describe('a disk at rest', () => {
  it('is what it was described as', async () => {
    expect(kept).toEqual({
      sizeBytes: 64 * 1024,
      modifiedNs: String(BigInt(writtenAt.getTime()) * 1_000_000n),
      headSha256: createHash('sha256').update(Buffer.alloc(4096, 'd')).digest('hex'),
    });
    await verify();
  });

  it('is described by its first block alone, of which a short file has less', async () => {
    await writeAt(4096, 'x');
    await verify();
    await writeFile(image, 'short');
    const { headSha256 } = await describeDisk(image);
    expect(headSha256).toBe(createHash('sha256').update('short').digest('hex'));
  });

  it.each([0, 1024 + 0x3a, 4095])(
    'is refused with another byte at %i, at the same size and time',
    async (at) => {
      await writeAt(at, 'x');
      await expect(verify()).rejects.toMatchObject(refused('headSha256'));
    },
  );

  it('is refused when it was cut off, or written to', async () => {
    await utimes(image, writtenAt, new Date(writtenAt.getTime() + 1));
    await expect(verify()).rejects.toMatchObject(refused('modifiedNs'));
    await truncate(image, 32 * 1024);
    await utimes(image, writtenAt, writtenAt);
    await expect(verify()).rejects.toMatchObject(refused('sizeBytes'));
  });

  it('is refused when it is gone or nothing is known of it', async () => {
    await expect(verifyDisk({ describe: describeDisk }, image, undefined)).rejects.toMatchObject(
      refused('was never described'),
    );
    await rm(image);
    await expect(verify()).rejects.toMatchObject(refused('cannot be read'));
  });

  it('is clean when its superblock says no more than that it was unmounted', async () => {
    for (const [state, isClean] of [
      [0, false],
      [1, true],
      [2, false],
      [3, false],
      [0x101, false],
    ] as const) {
      const bytes = Buffer.alloc(2);
      bytes.writeUInt16LE(state);
      await using file = await open(image, 'r+');
      await file.write(bytes, 0, 2, 1024 + 0x3a);
      expect(await isCleanDisk(image), String(state)).toBe(isClean);
    }
  });
});
