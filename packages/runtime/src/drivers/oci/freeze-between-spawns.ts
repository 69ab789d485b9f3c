import { readdir, readFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../error.ts';
import type { Cgroup } from './cgroup.ts';
import { requireFewDescriptors } from './descriptors.ts';
import { readProcessTree } from './process-tree.ts';
import { requireSessions } from './require-sessions.ts';
import { signalProcess } from './signal-process.ts';

const DEADLINE_MS = 3_000;

/**
 * Freezes the cgroup at a moment at which none of its processes waits for a child to begin its program: CRIU cannot
 * stop such a parent, gives up after 10 s, and most programs start others so. Nor is one that has ended left to the first of
 * them, `first`, which is about to ask how: of a session that such processes are, CRIU now and then makes none again, and
 * waits for ever. Every try lets them run for a moment.
 * After 3 s they are frozen as they are: what else looks the same (a parent that was stopped just then) can be written.
 * A stopped process is continued: CRIU would wait for it for as long as it is frozen. Rejects as `freeze`, and with
 * `unavailable` when there is always another one, more is open than can be written down, or sessions could not be made
 * again; all run on then.
 */
export const freezeBetweenSpawns = async (cgroup: Cgroup, first: number): Promise<void> => {
  const deadline = Date.now() + DEADLINE_MS;
  await cgroup.freeze();
  try {
    for (let tries = 1; ; tries++) {
      const members = await cgroup.members();
      const stopped = await findStopped(members);
      const isLate = Date.now() > deadline;
      const tree = await readProcessTree(first);
      const isMoving =
        stopped.length > 0 || tree.some(({ parent, hasEnded }) => parent === first && hasEnded);
      if (!isMoving && (isLate || !(await hasSpawner(members)))) {
        await requireFewDescriptors(members);
        requireSessions(tree);
        return;
      }
      if (isMoving && isLate) throw new RuntimeError('unavailable', 'processes stop or end again and again');
      for (const pid of stopped) signalProcess(pid, 'SIGCONT');
      await cgroup.thaw();
      await sleep(Math.min(tries, 10));
      await cgroup.freeze();
    }
  } catch (error) {
    await cgroup.thaw();
    throw error;
  }
};

/** A frozen process does not say that it was stopped before, but where. */
const findStopped = async (pids: readonly number[]): Promise<number[]> => {
  const places = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/wchan`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => places[index] === 'do_signal_stop');
};

const hasSpawner = async (pids: readonly number[]): Promise<boolean> => {
  const calls = await Promise.all(pids.map(readCalls));
  return calls.flat().some((call) => isSpawn(call));
};

/** The system call that each thread is in, with its arguments, as in `proc(5)`; none of a process that is gone. */
const readCalls = async (pid: number): Promise<string[]> => {
  const folder = `/proc/${pid}/task`;
  const threads = await readdir(folder).catch(() => []);
  return Promise.all(
    threads.map((thread) => readFile(`${folder}/${thread}/syscall`, 'utf8').catch(() => '')),
  );
};

/** arm64 has no call of its own for vfork(2). The flags of clone3(2) are behind a pointer. */
const numbers: Partial<Record<string, { clone: string; vfork?: string; clone3: string }>> = {
  x64: { clone: '56', vfork: '58', clone3: '435' },
  arm64: { clone: '220', clone3: '435' },
};
const CLONE_VFORK = 0x4000;

/** Whether that is a call that returns when the child has begun its program or has ended, on that architecture of Node's. */
export const isSpawn = (call: string, architecture: string = arch()): boolean => {
  const [number = '', flags] = call.split(' ');
  const { clone, vfork, clone3 } = numbers[architecture] ?? {};
  return number === vfork || number === clone3 || (number === clone && (Number(flags) & CLONE_VFORK) !== 0);
};
