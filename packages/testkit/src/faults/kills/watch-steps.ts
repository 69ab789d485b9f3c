import { type FSWatcher, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Something that the server or its helper has just done, as it shows from outside. */
export interface Step {
  /** What was written or started, and for which time since the beginning: the same whenever the same is done. */
  name: string;
  /** The first half of that. */
  what: string;
  /** Whether nothing else showed at the same time before it. Who acts at one acts at all of that time. */
  isFirst: boolean;
  /** The program that the helper has started. */
  pid?: number;
}

/** The folders of a data folder whose changes show; they must exist. */
export const watchedFolders = ['sandboxes', 'snapshots', 'templates', 'contexts'];

/**
 * Reports each change of the database, of each file that comes, goes or changes in the folder of a sandbox, a snapshot, an
 * image or an upload, and of each program that the helper starts, soon after it is so. The returned function ends that.
 */
export const watchSteps = (
  { dataDir, helperPid }: { dataDir: string; helperPid: number },
  onStep: (step: Step) => void,
): (() => void) => {
  const times = new Map<string, number>();
  let isFirst = true;
  const tell = (what: string, pid?: number): void => {
    const time = (times.get(what) ?? 0) + 1;
    times.set(what, time);
    onStep({ name: `${what} ${time}`, what, isFirst, ...(pid !== undefined && { pid }) });
    // All events that the kernel has at one time are reported in one turn.
    if (isFirst)
      setImmediate(() => {
        isFirst = true;
      });
    isFirst = false;
  };
  const watchers = new Map<string, FSWatcher>();
  const look = (folder: string, onEvent: (name: string) => void): void => {
    if (watchers.has(folder)) return;
    try {
      const watcher = watch(folder, (_, name) => name !== null && onEvent(name));
      watcher.on('error', () => watchers.delete(folder));
      watchers.set(folder, watcher);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  };
  look(dataDir, (name) => name.endsWith('-wal') && tell('database'));
  for (const all of watchedFolders) {
    const folder = join(dataDir, all);
    const lookInto = (id: string): void =>
      look(join(folder, id), (name) => tell(name === id ? 'its folder' : name));
    for (const id of readdirSync(folder)) lookInto(id);
    look(folder, (id) => {
      lookInto(id);
      tell(all);
    });
  }
  const seen = new Set(readChildren(helperPid));
  const timer = setInterval(() => {
    for (const pid of readChildren(helperPid)) {
      if (seen.has(pid)) continue;
      seen.add(pid);
      tell('program', pid);
    }
  }, 1);
  return () => {
    clearInterval(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
};

const readChildren = (pid: number): number[] => {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return []; // The process was killed.
  }
};

/** What a process runs; it may not have begun to. */
export const readProgram = (pid: number): string => {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    const programs = ['criu', 'crun', 'runc', 'runsc', 'e2fsck', 'mkfs.ext4'];
    return programs.find((name) => new RegExp(`(^|/)${name}\0`).test(line)) ?? 'another program';
  } catch {
    return 'ended'; // Gone by now.
  }
};
