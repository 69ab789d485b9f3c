import { existsSync, readdirSync, readFileSync, rmdirSync, statfsSync } from 'node:fs';
import { rmdir, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { signalProcess } from '../../../kernel/signal-process.ts';
import type { InstanceState, Usage } from '../../../runtime.ts';

const root = '/sys/fs/cgroup';
const CGROUP2_SUPER_MAGIC = 0x63677270;

/** How this host arranges cgroups: one tree for everything, or one for each controller. */
export interface CgroupLayout {
  version: 1 | 2;
  /** A version 2 tree that owns controllers exists beside version 1 trees; crun refuses to work with it. */
  hybrid: boolean;
  /** The folder of every tree; a cgroup has a folder of the same path in each. */
  trees: string[];
  limitsSwap: boolean;
  /** Delegated to an ordinary user, who is limited to its controllers and cannot restrict devices. */
  isDelegated?: boolean;
}

/** The version 2 group at `folder`, which is delegated to this user, as the root of its sandboxes' groups. */
export const readDelegatedLayout = (folder: string): CgroupLayout => ({
  version: 2,
  hybrid: false,
  trees: [folder],
  limitsSwap: existsSync(`${folder}/memory.swap.max`),
  isDelegated: true,
});

export const readCgroupLayout = (): CgroupLayout => {
  const isVersion2 = (path: string): boolean => statfsSync(path).type === CGROUP2_SUPER_MAGIC;
  if (isVersion2(root)) {
    return { version: 2, hybrid: false, trees: [root], limitsSwap: hasInSomeGroup('memory.swap.max') };
  }
  const trees = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${root}/${name}`);
  return {
    version: 1,
    hybrid: trees.some(isVersion2),
    trees,
    limitsSwap: readdirSync(`${root}/memory`).includes('memory.memsw.limit_in_bytes'),
  };
};

/** The root of the version 2 tree has no limits; any group below shows which ones the kernel supports. */
const hasInSomeGroup = (file: string): boolean =>
  readdirSync(root, { withFileTypes: true }).some(
    (entry) => entry.isDirectory() && existsSync(`${root}/${entry.name}/${file}`),
  );

/** The cgroup of one sandbox, in all trees of the host. No call fails because the cgroup does not exist any more. */
export interface Cgroup {
  /** The path as the OCI runtime gets it. */
  readonly path: string;
  state(): Promise<InstanceState>;
  usage(): Promise<Omit<Usage, 'diskBytes' | 'freeDiskBytes'>>;
  /**
   * Resolves when no member runs. Rejects with `unavailable`, with all members running, when one cannot be frozen
   * within 10 s.
   */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** The present members. */
  members(): Promise<number[]>;
  /** Sends a signal to every present member. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** The folder whose freezer holds the members. */
  readonly freezerPath: string;
  /** Sends SIGKILL to every present member, frozen or not. Resolves with false when there was none. */
  kill(): Promise<boolean>;
  /** Removes the cgroup, whose members must be dead or dying. */
  remove(): Promise<void>;
}

export const openCgroup = (layout: CgroupLayout, parent: string, id: string): Cgroup => {
  const path = `/${parent}/${id}`;
  const [unified = root] = layout.trees;
  const tree = (controller: string): string => (layout.version === 2 ? unified : `${root}/${controller}`);
  // Read synchronously, because the kernel has the content in memory: handing the read to another thread
  // costs three times as much.
  const read = (controller: string, file: string): string | undefined =>
    ifPresent(() => readFileSync(`${tree(controller)}${path}/${file}`, 'utf8'));

  const isFrozen = (): boolean =>
    layout.version === 2
      ? hasField(read('', 'cgroup.events'), 'frozen', 1)
      : read('freezer', 'freezer.state')?.trim() === 'FROZEN';

  const hasMembers = (): boolean =>
    layout.version === 2
      ? hasField(read('', 'cgroup.events'), 'populated', 1)
      : toNumber(read('pids', 'pids.current')) > 0;

  const members = (): number[] =>
    (read('pids', 'cgroup.procs') ?? '').split('\n').filter(Boolean).map(Number);

  const setFrozen = (frozen: boolean): Promise<void> =>
    layout.version === 2
      ? writePresent(`${tree('')}${path}/cgroup.freeze`, frozen ? '1' : '0')
      : writePresent(`${tree('freezer')}${path}/freezer.state`, frozen ? 'FROZEN' : 'THAWED');

  return {
    path,
    state: async () => {
      if (!hasMembers()) return 'stopped';
      return isFrozen() ? 'paused' : 'running';
    },
    usage: async () => {
      const [version1, version2] = [layout.version === 1, layout.version === 2];
      const processes = read('pids', 'pids.current');
      const memory = read('memory', version2 ? 'memory.current' : 'memory.usage_in_bytes');
      const memoryStat = read('memory', 'memory.stat');
      const oom = read('memory', version2 ? 'memory.events' : 'memory.oom_control');
      const cpu = read('cpuacct', version2 ? 'cpu.stat' : 'cpuacct.usage');
      const [idle, active] = ['inactive_file', 'active_file'].map((name) =>
        toField(memoryStat, version1 ? `total_${name}` : name),
      ) as [number, number];
      return {
        cpuTimeMs: version1 ? toNumber(cpu) / 1e6 : toField(cpu, 'usage_usec') / 1e3,
        memoryBytes: Math.max(0, toNumber(memory) - idle),
        cacheBytes: idle + active,
        processCount: toNumber(processes),
        // Version 1 counts them since Linux 4.13.
        ...(oom?.includes('oom_kill ') && { oomKills: toField(oom, 'oom_kill') }),
      };
    },
    freeze: async () => {
      await setFrozen(true);
      for (let attempt = 0; hasMembers() && !isFrozen(); attempt++) {
        if (attempt === 500) {
          await setFrozen(false);
          throw new RuntimeError('unavailable', `the processes of ${path} cannot be frozen`);
        }
        await sleep(Math.min(attempt, 20));
        // After a single request, a version 1 freezer misses a process that was about to wait for a child of its
        // vfork(2).
        await setFrozen(true);
      }
    },
    thaw: () => setFrozen(false),
    members: async () => members(),
    freezerPath: `${tree('freezer')}${path}`,
    signal: async (name) => {
      for (const pid of members()) signalProcess(pid, name);
    },
    kill: async () => {
      if (layout.version === 2 && existsSync(`${unified}${path}/cgroup.kill`)) {
        // This kills processes that start meanwhile, too.
        await writePresent(`${unified}${path}/cgroup.kill`, '1');
        return hasMembers();
      }
      const killed = members();
      for (const pid of killed) signalProcess(pid, 'SIGKILL');
      // Thaw after the kill: a frozen process does not die in a version 1 tree, and with the signal pending
      // it executes nothing more.
      if (layout.version === 1 && killed.length > 0) await setFrozen(false);
      return killed.length > 0;
    },
    remove: async () => {
      await Promise.all(layout.trees.map((folder) => removeGroup(`${folder}${path}`)));
    },
  };
};

/** ENODEV: removed between open and read. */
const ifPresent = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return undefined;
    throw error;
  }
};

const writePresent = async (path: string, text: string): Promise<void> => {
  try {
    await writeFile(path, text, { flag: 'r+' });
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENODEV')) throw error;
  }
};

const isErrno = (error: unknown, ...codes: string[]): boolean =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '');

const toNumber = (text: string | undefined): number => Number(text?.trim() ?? 0);

const toField = (text: string | undefined, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text ?? '')?.[1] ?? 0);

const hasField = (text: string | undefined, name: string, value: number): boolean =>
  text !== undefined && toField(text, name) === value;

/** A dead member is counted until the kernel has released it, a moment after its parent was notified. */
const removeGroup = async (path: string): Promise<void> => {
  for (let attempt = 0; ; attempt++) {
    try {
      await rmdir(path);
      return;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return;
      if (!isErrno(error, 'EBUSY') || attempt === 100) throw error;
      await sleep(Math.min(1 + attempt, 20));
    }
  }
};

/**
 * Removes the folder that a server's sandboxes share. An OCI runtime that is making a cgroup in it at this moment would
 * fail: the caller ensures that there is none.
 */
export const removeCgroupParent = (layout: CgroupLayout, parent: string): void => {
  for (const tree of layout.trees) {
    try {
      rmdirSync(`${tree}/${parent}`);
    } catch (error) {
      if (!isErrno(error, 'ENOENT', 'EBUSY', 'ENOTEMPTY')) throw error;
    }
  }
};
