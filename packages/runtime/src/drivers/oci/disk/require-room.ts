import { statfsSync } from 'node:fs';
import { RuntimeError } from '../../../error.ts';

const MIB = 2 ** 20;
const LARGEST_RESERVE_BYTES = 1024 * MIB;
const RESERVED_SHARE = 0.05;

/** What a file system can hold, and what of that is free. */
export interface Room {
  sizeBytes: number;
  freeBytes: number;
  /** Zero where the file system does not count inodes. */
  inodes: number;
  freeInodes: number;
}

/**
 * Returns the room of the file system that the folder is on. Throws the error of statfs(2), as for a missing
 * folder.
 */
export const readRoom = (folder: string): Room => {
  const { blocks, bavail, bsize, files, ffree } = statfsSync(folder);
  return { sizeBytes: blocks * bsize, freeBytes: bavail * bsize, inodes: files, freeInodes: ffree };
};

/**
 * The reason why nothing that takes room may begin on this file system; undefined where it may. The disks of sandboxes are
 * sparse and may together be larger than what is free: the reserve is for what those that run still write, for pauses, and
 * for what removes them.
 */
export const findShortage = ({ sizeBytes, freeBytes, inodes, freeInodes }: Room): string | undefined => {
  const reserveBytes = toReserveBytes(sizeBytes);
  if (freeBytes < reserveBytes)
    return `${toMebibytes(freeBytes)} MiB are free, less than the reserve of ${toMebibytes(reserveBytes)} MiB`;
  if (freeInodes < inodes * RESERVED_SHARE)
    return `${freeInodes} of ${inodes} inodes are free, less than the reserve of ${RESERVED_SHARE * 100} %`;
  return undefined;
};

const toReserveBytes = (sizeBytes: number): number =>
  Math.min(LARGEST_RESERVE_BYTES, sizeBytes * RESERVED_SHARE);

const toMebibytes = (bytes: number): number => Math.floor(bytes / MIB);

/** Throws `exhausted` where the file system of the data folder has no more than its reserve. */
export const requireRoom = (dataDir: string): void => {
  const shortage = findShortage(readRoom(dataDir));
  if (shortage !== undefined) throw new RuntimeError('exhausted', `the disk of the data folder: ${shortage}`);
};

/** What the file system of a folder can take beside its reserve. Negative where the reserve is in use. */
export const readSpareRoom = (folder: string): { sizeBytes: number; entryCount: number } => {
  const { sizeBytes, freeBytes, inodes, freeInodes } = readRoom(folder);
  const entryCount = inodes === 0 ? Number.POSITIVE_INFINITY : freeInodes - inodes * RESERVED_SHARE;
  return { sizeBytes: freeBytes - toReserveBytes(sizeBytes), entryCount };
};

/** Throws `exhausted` where a new file of that size would take from the reserve of the data folder's file system. */
export const requireRoomFor = (dataDir: string, sizeBytes: number): void => {
  const spare = readSpareRoom(dataDir).sizeBytes;
  if (sizeBytes > spare)
    throw new RuntimeError(
      'exhausted',
      `the disk of the data folder: ${toMebibytes(spare)} MiB are free beside the reserve, ${toMebibytes(sizeBytes)} MiB are needed`,
    );
};
