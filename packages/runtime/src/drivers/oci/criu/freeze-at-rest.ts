import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { signalProcess } from '../../../kernel/signal-process.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { requireFewDescriptors } from './obstacles/descriptors.ts';
import { readProcessTree, type TreeProcess } from './obstacles/process-tree.ts';
import { requireSessions } from './obstacles/require-sessions.ts';
import { hasSpawner } from './obstacles/spawner.ts';
import { hasHostConnection, hasWaitingConnection } from './quiet.ts';

const DEADLINE_MS = 3_000;

/**
 * Freezes the cgroup at a moment at which CRIU can write down its processes; after every other moment they run on for a while.
 * - None waits for a child to begin its program: CRIU cannot stop such a parent, gives up after 10 s, and most programs start
 *   others so. After 3 s they are frozen as they are: what else looks the same (a parent that was stopped just then) can be
 *   written.
 * - None was stopped: CRIU would wait for it for as long as it is frozen. It is continued.
 * - The first process, `first`, has reaped every zombie. CRIU sometimes does not recreate a session that holds zombies, and the
 *   restore hangs.
 * - The agent has no connection of the host, and nobody is left to accept one that is closed already.
 * Rejects as `freeze`, and with `unavailable` when there is always another one, more is open than can be written down, or
 * sessions could not be made again; all run on then.
 */
export const freezeAtRest = async (cgroup: Cgroup, first: number): Promise<void> => {
  const deadline = Date.now() + DEADLINE_MS;
  await cgroup.freeze();
  try {
    for (let tries = 1; ; tries++) {
      const members = await cgroup.members();
      const stopped = await findStopped(members);
      const isLate = Date.now() > deadline;
      const tree = await readProcessTree(first);
      const unrest = await findUnrest({ stopped, members, tree });
      if (unrest === undefined && (isLate || !(await hasSpawner(members)))) {
        await requireFewDescriptors(members);
        requireSessions(tree);
        return;
      }
      if (unrest !== undefined && isLate) throw new RuntimeError('unavailable', unrest);
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

interface Processes {
  stopped: readonly number[];
  members: readonly number[];
  /** The first one first. */
  tree: readonly TreeProcess[];
}

/** What cannot be written down, and may be over in a moment. */
const findUnrest = async ({ stopped, members, tree }: Processes): Promise<string | undefined> => {
  const [first] = tree;
  if (stopped.length > 0 || tree.some(({ parent, hasEnded }) => parent === first?.pid && hasEnded))
    return 'processes stop or end again and again';
  if (first && (await hasWaitingConnection(first.pid)))
    return 'connections wait to be accepted that were closed by one end, or that the host has made';
  return (await hasHostConnection(members)) ? 'connections to the agent are still open' : undefined;
};
