import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { signalProcess } from '../../../kernel/signal-process.ts';
import { MountFlag, mount, unmountEvery } from '../../../kernel/syscalls.ts';
import type { Usage } from '../../../runtime.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';

/** Where the user namespace of a sandbox is held by a mount: its number belongs to nothing else as long as it is. */
const toPin = (dataDir: string, id: string): string => `${dataDir}/run/user-namespaces/${id}`;

/** Holds the open user namespace under the id of the sandbox whose processes will be in it, and no others. */
export const pinUserNamespace = async (dataDir: string, id: string, namespace: number): Promise<void> => {
  const target = toPin(dataDir, id);
  await mkdir(`${dataDir}/run/user-namespaces`, { recursive: true, mode: 0o700 });
  await writeFile(target, '');
  mount({ source: `/proc/self/fd/${namespace}`, target, type: '', flags: MountFlag.bind, data: '' });
};

/**
 * What a cgroup does for a sandbox, where this process may have none: its members are those of its user namespace,
 * which stop and go on by signals. There are no limits.
 */
export const openProcessGroup = (dataDir: string, id: string): Cgroup => {
  const pin = toPin(dataDir, id);
  // Who was stopped before everybody was. It says, too, that everybody is, after this process is gone.
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
      // Whoever starts another while the others are told is stopped, and the other is found, the next time.
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

/** The number of the namespace that is held there. A file that nothing is mounted at holds none. */
const readPinned = (pin: string): number | undefined => {
  const found = statSync(pin, { throwIfNoEntry: false });
  const isNamespace = found !== undefined && found.dev === statSync('/proc/self/ns/user').dev;
  return isNamespace ? found.ino : undefined;
};

const readNamespace = (pid: number): number | undefined => {
  try {
    return statSync(`/proc/${pid}/ns/user`).ino;
  } catch {
    // It is gone, or belongs to another user of the host.
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

/** proc(5), /proc/pid/stat: what follows the name, which may hold anything. */
const readStat = (pid: number): string[] | undefined => {
  const text = readIfThere(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
};

/** Stopped, traced and stopped, or dead: it does nothing any more. */
const isStopped = (pid: number): boolean => /[TtZX]/.test(readStat(pid)?.[0] ?? 'X');

/** sysconf(_SC_CLK_TCK) on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
// Of /proc/pid/stat behind the name: own time in user and system mode, then that of children it has waited for.
const TIMES = [11, 12, 13, 14];

/** Times of ended processes are with the parents that have waited for them, in the end with the first process. */
const toUsage = (pids: readonly number[]): Omit<Usage, 'diskBytes'> => {
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
