import { open, stat } from 'node:fs/promises';
import { RuntimeError } from '../../../error.ts';
import { hashSparse } from './hash-sparse.ts';

/** Detects changes of an image that is not written to any more. */
export interface SealedDisk {
  sizeBytes: number;
  /** The hash of its content, in hex. Holes count as zeros. */
  sha256: string;
  /** Shows by a stat that the image is unchanged. A copy, from a backup for example, has other times. */
  stamp: { inode: string; modifiedNs: string; changedNs: string };
}

export const describeSealedDisk = async (image: string): Promise<SealedDisk> => {
  const { size, ino, mtimeNs, ctimeNs } = await stat(image, { bigint: true });
  return {
    sizeBytes: Number(size),
    sha256: await hashDisk(image),
    stamp: { inode: String(ino), modifiedNs: String(mtimeNs), changedNs: String(ctimeNs) },
  };
};

/**
 * Rejects with `damaged` and the difference when the image differs from its description. Reads all of it only when its
 * stat differs.
 */
export const requireSealedDisk = async (image: string, sealed: SealedDisk): Promise<void> => {
  const found = await stat(image, { bigint: true }).catch((error: unknown) => {
    throw new RuntimeError('damaged', 'its disk cannot be read', { cause: error });
  });
  if (Number(found.size) !== sealed.sizeBytes) {
    throw new RuntimeError('damaged', `its disk has ${found.size} bytes and had ${sealed.sizeBytes}`);
  }
  const { inode, modifiedNs, changedNs } = sealed.stamp;
  const isUntouched =
    String(found.ino) === inode &&
    String(found.mtimeNs) === modifiedNs &&
    String(found.ctimeNs) === changedNs;
  if (isUntouched) return;
  const sha256 = await hashDisk(image);
  if (sha256 !== sealed.sha256) {
    throw new RuntimeError('damaged', `the hash of its disk is ${sha256} and was ${sealed.sha256}`);
  }
};

const hashDisk = async (image: string): Promise<string> => {
  await using file = await open(image, 'r');
  return await hashSparse(file);
};
