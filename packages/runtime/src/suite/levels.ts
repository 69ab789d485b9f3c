import type { Features } from '../runtime.ts';

/**
 * What differs between levels for the code inside, and is tested as it is said here. All else in the suite holds at
 * every level; what a driver cannot do, its features say.
 */
export interface LevelTraits {
  /** What ends when there are more processes, or more memory is used, than the sandbox may have. */
  endsAtLimit: 'program' | 'sandbox';
  /** Whether named pipes are files of the disk, and so outlive a run. */
  keepsPipes: boolean;
  /** Whether a program with the setuid bit runs as its owner. */
  honoursSetuid: boolean;
  /** Whether `/proc` keeps the environment and the list of descriptors of a process from other users. */
  hidesProcesses: boolean;
  /** Whether the map of ids inside is the host's; otherwise only the host shows which ids they are. */
  showsIdMap: boolean;
  /** Of what a hostile program tries, by the names of `findThrough`, what gets through by design. */
  letsThrough: readonly string[];
  /** Names in `/dev` beside those that are everywhere. */
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
    // Its kernel is a process under the same limits, and the host ends that.
    endsAtLimit: 'sandbox',
    keepsPipes: false,
    honoursSetuid: false,
    hidesProcesses: false,
    showsIdMap: false,
    letsThrough: [
      // A kernel of its own makes the namespaces, of nothing but its own.
      'call clone3',
      // That of its own kernel, which tells nothing of the host's.
      'look at /proc/cmdline',
      'look at /sys/fs',
      // Those of all processes inside: see `hidesProcesses`.
      'read the memory map of the first process as a user',
      'read the variables of the first process as a user',
      // Does nothing.
      'write to /proc/sysrq-trigger',
    ],
    // Its own as well; mounting what speaks over the one, and any right over the other, is refused.
    devices: ['fuse', 'net'],
  },
};

/** @throws Error for a level that no driver has */
export const toLevelTraits = ({ level }: Features): LevelTraits => {
  const found = traits[level];
  if (!found) throw new Error(`what level ${level} does is not said here`);
  return found;
};
