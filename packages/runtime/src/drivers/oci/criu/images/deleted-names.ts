import { readFile } from 'node:fs/promises';
import { type RegularFile, Remap_Kind, RemapSchema } from '../../../../gen/criu/images/images_pb.ts';
import { parseImage } from './image-file.ts';

/**
 * Shortens the longest names of deleted open files: CRIU creates such a file again under its name with a suffix, and then
 * removes the suffix. Only links in `/proc` show the shorter name. Resolves with whether
 * there were any; rejects with `internal` when the images in the folder cannot be understood.
 */
export const shortenDeletedNames = async (
  files: readonly RegularFile[],
  folder: string,
): Promise<boolean> => {
  const deleted = await readDeleted(folder);
  const long = files.filter(({ id, name }) => deleted.has(id) && countExtraBytes(name) > 0);
  for (const file of long) file.name = file.name.subarray(0, file.name.length - countExtraBytes(file.name));
  return long.length > 0;
};

/** By how many the last name of a path is longer than one that CRIU can append to. */
const countExtraBytes = (path: Uint8Array): number =>
  path.length - 1 - path.lastIndexOf(SLASH) - LONGEST_BYTES;

/** The ids of the regular files whose contents are in images of their own. */
const readDeleted = async (folder: string): Promise<ReadonlySet<number>> => {
  const bytes = await readFile(`${folder}/remap-fpath.img`).catch((error: NodeJS.ErrnoException) => {
    // The image is missing when no process had a deleted file open.
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  const { messages } = await parseImage(RemapSchema, bytes);
  return new Set(messages.filter(({ kind }) => kind === Remap_Kind.GHOST).map(({ fileId }) => fileId));
};

const SLASH = '/'.charCodeAt(0);
/** NAME_MAX of linux/limits.h without what criu/files-reg.c appends at most: `.cr.`, 32 bits in hex, `.ghost`. */
const LONGEST_BYTES = 255 - 18;
