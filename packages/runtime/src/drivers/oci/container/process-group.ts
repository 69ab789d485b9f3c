import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { signalProcess } from '../../../kernel/signal-process.ts';
import { MountFlag, mount, unmountEvery } from '../../../kernel/syscalls.ts';
import type { Usage } from '../../../runtime.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';

/**
 * The file at which the user namespace of a sandbox is mounted: its number is not reused as long as the mount exists.
 */
const toPin = (dataDir: string, id: string): string => `${dataDir}/run/user-namespaces/${id}`;

/** Mounts the open user namespace under the id of the sandbox whose processes, and no others, will be in it. */
export const pinUserNamespace = async (dataDir: string, id: string, namespace: number): Promise<void> => {
  const target = toPin(dataDir, id);
  await mkdir(`${dataDir}/run/user-namespaces`, { recursive: true, mode: 0o700 });
  await writeFile(target, '');
  mount({ source: `/proc/self/fd/${namespace}`, target, type: '', flags: MountFlag.bind, data: '' });
};

/**
 * Replaces a cgroup where this process may have none: the members are the processes in the sandbox's user namespace,
 * which are stopped and continued by signals. There are no limits.
 */
export const openProcessGroup = (dataDir: string, id: string): Cgroup => {
  const pin = toPin(dataDir, id);
  // The members that were stopped before the freeze. The file also shows, after the end of this process, that all are
  // stopped.
  const stoppedFile = `${pin}.stopped`;

  const members = (): number[] => {
    const namespace = readPinned(pin);
    if (namespace === undefined) return [];
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => readNamespace(pid) === namespace);
  };

  const thaw = async (): Promise<void> => {
    const stopped = readIfThere(stoppedFile);
    if (stopped === undefined) return;
    const before = stopped.split(' ').map(Number);
    for (const pid of members()) if (!before.includes(pid)) signalProcess(pid, 'SIGCONT');
    await rm(stoppedFile, { force: true });
  };

  return {
    path: `/skerry/${id}`,
    freezerPath: '',
    state: async () => {
      if (members().length === 0) return 'stopped';
      return readIfThere(stoppedFile) === undefined ? 'running' : 'paused';
    },
    usage: async () => toUsage(members()),
    freeze: async () => {
      const before = members().filter(isStopped);
      await writeFile(stoppedFile, before.join(' '));
      // A process that is started meanwhile is found and stopped in the next round.
      for (let attempt = 0; ; attempt++) {
        const running = members().filter((pid) => !isStopped(pid));
        if (running.length === 0) return;
        if (attempt === 400) {
          await thaw();
          throw new RuntimeError('internal', `the processes of sandbox ${id} cannot be stopped`);
        }
        for (const pid of running) signalProcess(pid, 'SIGSTOP');
        await sleep(Math.min(attempt, 20));
      }
    },
    thaw,
    members: async () => members(),
    signal: async (name) => {
      for (const pid of members()) signalProcess(pid, name);
    },
    kill: async () => {
      const killed = members();
      for (const pid of killed) signalProcess(pid, 'SIGKILL');
      return killed.length > 0;
    },
    remove: async () => {
      unmountEvery(pin);
      await Promise.all([pin, stoppedFile].map((path) => rm(path, { force: true })));
    },
  };
};

/** The number of the namespace that is mounted there; none where nothing is mounted. */
const readPinned = (pin: string): number | undefined => {
  const found = statSync(pin, { throwIfNoEntry: false });
  const isNamespace = found !== undefined && found.dev === statSync('/proc/self/ns/user').dev;
  return isNamespace ? found.ino : undefined;
};

const readNamespace = (pid: number): number | undefined => {
  try {
    return statSync(`/proc/${pid}/ns/user`).ino;
  } catch {
    // The process has ended, or belongs to another user of the host.
    return undefined;
  }
};

const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
};

/** proc(5), /proc/pid/stat: the fields after the name, which may contain any character. */
const readStat = (pid: number): string[] | undefined => {
  const text = readIfThere(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
};

/** Stopped, stopped by a tracer, or dead: it executes nothing. */
const isStopped = (pid: number): boolean => /[TtZX]/.test(readStat(pid)?.[0] ?? 'X');

/** sysconf(_SC_CLK_TCK) on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
// Fields of /proc/pid/stat after the name: own time in user and system mode, then that of children it has
// waited for.
const TIMES = [11, 12, 13, 14];

/** The times of ended processes are counted by the parents that have waited for them, at last by the first process. */
const toUsage = (pids: readonly number[]): Omit<Usage, 'diskBytes' | 'freeDiskBytes'> => {
  const usage = { cpuTimeMs: 0, memoryBytes: 0, cacheBytes: 0, processCount: 0 };
  for (const pid of pids) {
    const fields = readStat(pid);
    const status = readIfThere(`/proc/${pid}/status`);
    if (fields === undefined || status === undefined) continue;
    const ticks = TIMES.reduce((sum, index) => sum + Number(fields[index]), 0);
    usage.cpuTimeMs += (ticks * 1000) / TICKS_PER_SECOND;
    usage.memoryBytes += (toField(status, 'RssAnon') + toField(status, 'RssShmem')) * 1024;
    usage.processCount += toField(status, 'Threads');
  }
  return usage;
};

const toField = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
