import { cp, mkdtemp, open, rename, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeSealedDisk, requireSealedDisk, type SealedDisk } from './sealed-disk.ts';

const sizeBytes = 64 * 1024;
const writtenAt = new Date('2026-01-02T03:04:05Z');

let dir: string;
let image: string;
let sealed: SealedDisk;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sealed-'));
  image = join(dir, 'disk');
  await writeFile(image, Buffer.alloc(sizeBytes, 'd'));
  await utimes(image, writtenAt, writtenAt);
  sealed = await describeSealedDisk(image);
});
afterEach(() => rm(dir, { recursive: true }));

const writeAt = async (offset: number, text: string): Promise<void> => {
  await using file = await open(image, 'r+');
  await file.write(text, offset);
  await file.utimes(writtenAt, writtenAt);
};
const damaged = (what: string) => ({ code: 'damaged', message: expect.stringContaining(what) });

describe('a sealed disk', () => {
  it('is what it was described as, and an untouched one is not read again', async () => {
    const { ino, ctimeNs, mtimeNs } = await stat(image, { bigint: true });
    expect(sealed).toEqual({
      sizeBytes,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      stamp: { inode: String(ino), modifiedNs: String(mtimeNs), changedNs: String(ctimeNs) },
    });
    await requireSealedDisk(image, sealed);
    await requireSealedDisk(image, { ...sealed, sha256: 'of something else' });
  });

  it('is read again when its stat differs in one point, and accepted with the same content', async () => {
    const stamps = [{ inode: '1' }, { modifiedNs: '1' }, { changedNs: '1' }];
    for (const other of stamps) {
      const stamp = { ...sealed.stamp, ...other };
      await requireSealedDisk(image, { ...sealed, stamp });
      await expect(
        requireSealedDisk(image, { ...sealed, stamp, sha256: 'of something else' }),
      ).rejects.toMatchObject(damaged('the hash of its disk'));
    }
    // A backup that is put back.
    await cp(image, join(dir, 'backup'));
    await rename(join(dir, 'backup'), image);
    await requireSealedDisk(image, sealed);
  });

  it.each([0, 4096, sizeBytes - 1])(
    'is refused with another byte at %i, at the same size and time',
    async (at) => {
      await writeAt(at, 'x');
      await expect(requireSealedDisk(image, sealed)).rejects.toMatchObject(damaged(sealed.sha256));
    },
  );

  it('is refused when it was cut off, even of holes alone, or is gone', async () => {
    const longer = { ...sealed, sizeBytes: sizeBytes + 4096 };
    await expect(requireSealedDisk(image, longer)).rejects.toMatchObject(damaged(`had ${sizeBytes + 4096}`));
    await truncate(image, sizeBytes + 4096);
    await expect(requireSealedDisk(image, sealed)).rejects.toMatchObject(damaged(`had ${sizeBytes}`));
    await rm(image);
    await expect(requireSealedDisk(image, sealed)).rejects.toMatchObject(damaged('cannot be read'));
  });
});
