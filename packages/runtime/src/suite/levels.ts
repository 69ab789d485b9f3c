import type { Features } from '../runtime.ts';

/**
 * The differences between levels for the code inside, tested as listed here. Everything else in the suite holds at
 * every level; the features of a driver report what it cannot do.
 */
export interface LevelTraits {
  /** What ends when a sandbox exceeds its number of processes or its memory. */
  endsAtLimit: 'program' | 'sandbox';
  /** Whether named pipes are files of the disk, and so outlive a run. */
  keepsPipes: boolean;
  /** Whether a program with the setuid bit runs as its owner. */
  honoursSetuid: boolean;
  /** Whether `/proc` hides the environment and the descriptors of a process from other users. */
  hidesProcesses: boolean;
  /** Whether the id map inside is the host's; otherwise only the host shows the ids. */
  showsIdMap: boolean;
  /** The attempts of the hostile program, by the names of `findThrough`, that succeed by design. */
  letsThrough: readonly string[];
  /** Names in `/dev` beside those that exist at every level. */
  devices: readonly string[];
}

const traits: Partial<Record<Features['level'], LevelTraits>> = {
  container: {
    endsAtLimit: 'program',
    keepsPipes: true,
    honoursSetuid: true,
    hidesProcesses: true,
    showsIdMap: true,
    letsThrough: [],
    devices: ['mqueue'],
  },
  gvisor: {
    // The sentry of a sandbox is a process under the sandbox's limits, and the host ends that.
    endsAtLimit: 'sandbox',
    keepsPipes: false,
    honoursSetuid: false,
    hidesProcesses: false,
    showsIdMap: false,
    letsThrough: [
      // The sentry makes these namespaces, with rights over itself only.
      'call clone3',
      // The sentry's own, which shows nothing of the host's.
      'look at /proc/cmdline',
      'look at /sys/fs',
      // Processes inside can read each other's: see `hidesProcesses`.
      'read the memory map of the first process as a user',
      'read the variables of the first process as a user',
      // Has no effect.
      'write to /proc/sysrq-trigger',
    ],
    // The sentry's own as well; using them against another process or mount is refused.
    devices: ['fuse', 'net'],
  },
};

/** @throws Error for a level that no driver has */
export const toLevelTraits = ({ level }: Pick<Features, 'level'>): LevelTraits => {
  const found = traits[level];
  if (!found) throw new Error(`the properties of level ${level} are not listed here`);
  return found;
};
