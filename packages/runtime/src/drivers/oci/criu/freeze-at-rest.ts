import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from '../../../kernel/signal-process.ts';
import { ObstacleError, type ObstacleKind } from '../../../obstacle.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { requireFewDescriptors } from './descriptors/list-descriptors.ts';
import { findPendingConnection, hasHostConnection } from './host-connections.ts';
import { requireSessions } from './obstacles/require-sessions.ts';
import { hasSpawner } from './obstacles/spawner.ts';
import { hasUnreadEvents } from './obstacles/unread-events.ts';
import { findSocketHolder } from './processes/observe-process.ts';
import { readProcessTree, type TreeProcess } from './processes/process-tree.ts';

const DEADLINE_MS = 3_000;
/** A program that reads its watches reads them sooner. For one that does not, no pause should take long. */
const EVENTS_DEADLINE_MS = 1_000;

/**
 * Freezes the cgroup at a moment at which CRIU can dump its processes; after every other moment they run for a while.
 * - None waits for a child to execute its program: CRIU cannot stop such a parent, gives up after 10 s, and most programs start
 * others so. After 3 s they are frozen as they are: other states that look the same (a parent that was stopped just then) can be
 * dumped.
 * - None is stopped: CRIU would wait for it for as long as it is frozen. It is continued.
 * - The first process, `first`, has reaped every zombie. CRIU sometimes does not recreate a session that holds zombies, and the
 * restore hangs.
 * - The agent has no connection of the host, and no closed connection waits to be accepted.
 * - Every event of a watch has been read, as the image would not contain it. Events that are the last obstacle for 1 s are dropped from
 * the image.
 * Rejects as `freeze`, and with an `ObstacleError` when there is always another obstacle, more is open than can be dumped, or sessions could
 * not be restored; all processes continue then.
 */
export const freezeAtRest = async (cgroup: Cgroup, first: number): Promise<void> => {
  const deadline = Date.now() + DEADLINE_MS;
  let eventsDeadline: number | undefined;
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
        eventsDeadline ??= Date.now() + EVENTS_DEADLINE_MS;
        if (Date.now() > eventsDeadline || !(await hasUnreadEvents(members))) return;
      }
      if (unrest !== undefined && isLate) {
        const { kind, socket } = unrest;
        const process = socket === undefined ? undefined : await findSocketHolder(members, socket);
        throw new ObstacleError({ kind, process });
      }
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

/** A frozen process is not shown as stopped, but its wait channel is. */
const findStopped = async (pids: readonly number[]): Promise<number[]> => {
  const places = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/wchan`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => places[index] === 'do_signal_stop');
};

interface Processes {
  stopped: readonly number[];
  members: readonly number[];
  /** The first process first. */
  tree: readonly TreeProcess[];
}

interface Unrest {
  kind: ObstacleKind;
  /** The inode of the socket of a process. */
  socket?: number;
}

/** States that cannot be dumped, and may end in a moment. */
const findUnrest = async ({ stopped, members, tree }: Processes): Promise<Unrest | undefined> => {
  const [first] = tree;
  if (stopped.length > 0 || tree.some(({ parent, hasEnded }) => parent === first?.pid && hasEnded))
    return { kind: 'unrest' };
  const pending = first && (await findPendingConnection(first.pid));
  if (pending?.kind === 'pending_connection') return { kind: pending.kind, socket: pending.inode };
  return pending || (await hasHostConnection(members)) ? { kind: 'agent_connection' } : undefined;
};
