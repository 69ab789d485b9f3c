import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { RuntimeError } from '../../../error.ts';

/** Detects a disk image that was truncated, replaced or written to, at a cost that does not depend on its size. */
export interface KeptDisk {
  sizeBytes: number;
  /** A decimal string; too large for a JSON number. */
  modifiedNs: string;
  /**
   * The hash of its first block, in hex: that contains the superblock, which the file system changes with every mount.
   */
  headSha256: string;
}

const HEAD_BYTES = 4096;

export const describeDisk = async (image: string): Promise<KeptDisk> => {
  await using file = await open(image, 'r');
  const [{ size, mtimeNs }, { buffer, bytesRead }] = await Promise.all([
    file.stat({ bigint: true }),
    file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0),
  ]);
  const headSha256 = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
  return { sizeBytes: Number(size), modifiedNs: String(mtimeNs), headSha256 };
};

/** Rejects with `internal` and the difference when the disk at rest differs from its description. */
export const verifyDisk = async (
  disks: { describe(image: string): Promise<KeptDisk> },
  image: string,
  kept: KeptDisk | undefined,
): Promise<void> => {
  if (kept === undefined) throw damaged(image, 'was never described');
  const found = await disks.describe(image).catch((error: unknown) => {
    throw damaged(image, 'cannot be read', error);
  });
  for (const name of ['sizeBytes', 'modifiedNs', 'headSha256'] as const) {
    if (found[name] !== kept[name]) {
      throw damaged(image, `changed while paused: ${name} was ${kept[name]} and is ${found[name]}`);
    }
  }
};

const damaged = (image: string, what: string, cause?: unknown): RuntimeError =>
  new RuntimeError('internal', `the disk ${image} ${what}`, { cause });

// ext4.h: the superblock begins at 1024, s_state is at 0x3a in it.
const STATE_OFFSET = 1024 + 0x3a;
const EXT4_VALID_FS = 1;

/** Whether the file system in the image was unmounted regularly and has seen no error. */
export const isCleanDisk = async (image: string): Promise<boolean> => {
  await using file = await open(image, 'r');
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, STATE_OFFSET);
  return buffer.readUInt16LE(0) === EXT4_VALID_FS;
};
