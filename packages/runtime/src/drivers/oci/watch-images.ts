import { readdirSync, statSync } from 'node:fs';
import { type Field, readFields, readFiles } from './files-image.ts';

/**
 * Takes the watches of files that have no name any more, but are open, out of the bytes of `files.img`: such a file can be
 * restored, and not be found by what a watch knows of it. Nothing but writing by those who have it open would be told.
 * @throws RuntimeError `internal` when the bytes cannot be understood
 */
export const dropDeadWatches = (bytes: Buffer, pids: readonly number[]): void => {
  const watches = readFiles(bytes, FILE_INOTIFY)
    .flat()
    .filter(({ number }) => number === WATCH);
  if (watches.length === 0) return;
  const deleted = findDeleted(pids);
  const isDead = (watch: Field): boolean =>
    readFields(bytes, watch).some(({ number, value }) => number === WATCH_INODE && deleted.has(value));
  // A field that nobody knows is passed over.
  for (const { tagAt } of watches.filter(isDead)) bytes[tagAt] = UNKNOWN_BYTES;
};

// criu: images/fdinfo.proto, images/fsnotify.proto
const FILE_INOTIFY = 13;
const WATCH = 5;
const WATCH_INODE = 2;
/** Field 15, of as many bytes as it says. */
const UNKNOWN_BYTES = 0x7a;

/** The numbers of the files without a name that the processes have open. */
const findDeleted = (pids: readonly number[]): ReadonlySet<number> => {
  const found = new Set<number>();
  for (const pid of pids) {
    for (const name of listDescriptors(pid)) {
      // A descriptor may be gone by now.
      const status = statSync(`/proc/${pid}/fd/${name}`, { throwIfNoEntry: false });
      if (status?.nlink === 0) found.add(status.ino);
    }
  }
  return found;
};

const listDescriptors = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    // The process is gone by now.
    return [];
  }
};
