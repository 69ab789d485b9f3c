import { type RegularFile, type Remap, Remap_Kind } from '../../../../gen/criu/images/images_pb.ts';

/**
 * Shortens the longest names of deleted open files: CRIU creates such a file again under its name with a suffix, and then
 * removes the suffix. Only links in `/proc` show the shorter name. Returns whether there were any.
 */
export const shortenDeletedNames = (files: readonly RegularFile[], remaps: readonly Remap[]): boolean => {
  const deleted = new Set(remaps.filter(({ kind }) => kind === Remap_Kind.GHOST).map(({ fileId }) => fileId));
  const long = files.filter(({ id, name }) => deleted.has(id) && countExtraBytes(name) > 0);
  for (const file of long) file.name = file.name.subarray(0, file.name.length - countExtraBytes(file.name));
  return long.length > 0;
};

/**
 * Returns the number of bytes by which the last name of a path is longer than one that CRIU can append to.
 */
const countExtraBytes = (path: Uint8Array): number =>
  path.length - 1 - path.lastIndexOf(SLASH) - LONGEST_BYTES;

const SLASH = '/'.charCodeAt(0);
/** NAME_MAX of linux/limits.h without what criu/files-reg.c appends at most: `.cr.`, 32 bits in hex, `.ghost`. */
const LONGEST_BYTES = 255 - 18;
