import { posix } from 'node:path';
import { type RegularFile, type Remap, Remap_Kind } from '../../../../gen/criu/images/images_pb.ts';
import type { SandboxRoot } from '../processes/sandbox-root.ts';

/**
 * Gives deleted files and folders that are held other names where theirs cannot be used again: CRIU makes them again under their
 * names and then removes them. The name of a folder must be free, and the folders above must exist or, for a file, be
 * possible to make. Only links in `/proc` show the other name. Returns whether there were any.
 */
export const placeDeleted = (
  { files, remaps }: { files: readonly RegularFile[]; remaps: readonly Remap[] },
  root: SandboxRoot,
): boolean => {
  const byId = new Map(files.map((file) => [file.id, file]));
  /** The names of the folders, by the ids of their images. */
  const placed = new Map<number, string>();
  const taken = new Set<string>();
  let hasMoved = false;
  for (const { kind, fileId, target } of remaps) {
    const file = byId.get(fileId);
    if (file === undefined || (kind !== Remap_Kind.GHOST && kind !== Remap_Kind.LINKED)) continue;
    const name = Buffer.from(file.name).toString('latin1');
    const isFolder = kind === Remap_Kind.GHOST && (file.mode & FILE_TYPE) === FOLDER;
    const next = isFolder ? (placed.get(target) ?? toFreeName(name, { root, taken })) : toPlace(name, root);
    if (isFolder) {
      placed.set(target, next);
      taken.add(next);
    }
    if (next === name) continue;
    file.name = Buffer.from(next, 'latin1');
    hasMoved = true;
  }
  return hasMoved;
};

/** CRIU makes missing folders above a file, and removes them again. */
const toPlace = (name: string, root: SandboxRoot): string => {
  const { folder, isBlocked } = root.findFolder(posix.dirname(name));
  return isBlocked ? posix.join(folder, posix.basename(name)) : name;
};

/** CRIU leaves missing folders above a folder in place, and takes another folder of that name for the deleted one. */
const toFreeName = (
  name: string,
  { root, taken }: { root: SandboxRoot; taken: ReadonlySet<string> },
): string => {
  const { folder } = root.findFolder(posix.dirname(name));
  const own = posix.join(folder, posix.basename(name));
  for (let count = 0, next = own; ; count++, next = `${own.slice(0, folder.length + ROOM_BYTES)}.${count}`) {
    if (!taken.has(next) && root.find(next) === undefined) return next;
  }
};

/** linux/stat.h */
const [FILE_TYPE, FOLDER] = [0o170000, 0o040000];
/** NAME_MAX of linux/limits.h, without a number. */
const ROOM_BYTES = 240;
