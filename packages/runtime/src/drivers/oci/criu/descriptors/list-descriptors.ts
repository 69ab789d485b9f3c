import { type Dir, opendirSync, readlinkSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { ObstacleError } from '../../../../obstacle.ts';

/** The largest number of open files, of all processes of a sandbox together, with which its memory can be kept. */
export const MAX_DESCRIPTORS = 65_536;

export interface Descriptor {
  pid: number;
  /** The number of the descriptor, as a name. */
  name: string;
}

/**
 * The open files of the processes, one for each descriptor, none of a process that has ended. Ends after one more than
 * `MAX_DESCRIPTORS`: code inside may have opened a thousand times as many.
 */
export function* listDescriptors(pids: readonly number[]): Generator<Descriptor> {
  let listed = 0;
  for (const pid of pids) {
    for (const name of listNames(pid)) {
      yield { pid, name };
      listed += 1;
      if (listed > MAX_DESCRIPTORS) return;
    }
  }
}

// Reads synchronously, as all reads here do, because the kernel has the names in memory: handing a read to
// another thread costs more.
function* listNames(pid: number): Generator<string> {
  const folder = openFolder(pid);
  if (folder === undefined) return;
  try {
    for (let name = readName(folder); name !== undefined; name = readName(folder)) yield name;
  } finally {
    folder.closeSync();
  }
}

const openFolder = (pid: number): Dir | undefined => {
  try {
    return opendirSync(`/proc/${pid}/fd`, { bufferSize: 1024 });
  } catch {
    // The process has ended.
    return undefined;
  }
};

const readName = (folder: Dir): string | undefined => {
  try {
    return folder.readSync()?.name;
  } catch {
    // The process has ended.
    return undefined;
  }
};

/** The target of the descriptor, as `proc_pid_fd(5)` names it; empty where it was closed. */
export const readDescriptor = ({ pid, name }: Descriptor): string => {
  try {
    return readlinkSync(`/proc/${pid}/fd/${name}`);
  } catch {
    // The descriptor was closed.
    return '';
  }
};

/** Rejects with an `ObstacleError` when the processes have more than `MAX_DESCRIPTORS`: checking them takes too long. */
export const requireFewDescriptors = async (pids: readonly number[]): Promise<void> => {
  const yielder = createYielder();
  let count = 0;
  for (const _ of listDescriptors(pids)) {
    count += 1;
    if (count > MAX_DESCRIPTORS) throw new ObstacleError({ kind: 'too_many_files' });
    await yielder();
  }
};
