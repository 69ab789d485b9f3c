import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { listDescriptors, MAX_DESCRIPTORS } from './descriptors.ts';
import { createTurns } from './turns.ts';

/**
 * Why CRIU cannot have written down processes, which are frozen, where that is for something that they hold: to be asked when it
 * has failed. Resolves with undefined where it must have been something else.
 */
export const findObstacle = async (pids: readonly number[]): Promise<string | undefined> => {
  const turns = createTurns();
  let looks = 0;
  for (const path of listFiles(pids)) {
    if (isLongDeletedName(path))
      return 'a file is in use of which a name of more than 245 bytes was deleted, and not its other ones';
    looks += 1;
    if (looks > MAX_LOOKS) return undefined;
    await turns();
  }
  return undefined;
};

/** Code inside may have mapped a thousand times as much. */
const MAX_LOOKS = 2 * MAX_DESCRIPTORS;

/** What leads to the files that are open, and to those that are mapped. */
function* listFiles(pids: readonly number[]): Generator<string> {
  for (const { pid, name } of listDescriptors(pids)) yield `/proc/${pid}/fd/${name}`;
  for (const pid of pids) {
    const folder = `/proc/${pid}/map_files`;
    for (const name of readNames(folder)) yield `${folder}/${name}`;
  }
}

const readNames = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    // The process is gone by now.
    return [];
  }
};

/** CRIU looks for the file under the name that `proc_pid_fd(5)` shows, which is longer than a name may be, NAME_MAX. */
const isLongDeletedName = (path: string): boolean => {
  try {
    const shown = readlinkSync(path, 'buffer');
    const nameBytes = shown.length - 1 - shown.lastIndexOf('/');
    return nameBytes > NAME_MAX && shown.toString('latin1').endsWith(DELETED) && statSync(path).nlink > 0;
  } catch {
    // It is gone by now.
    return false;
  }
};

/** linux/limits.h */
const NAME_MAX = 255;
const DELETED = ' (deleted)';
