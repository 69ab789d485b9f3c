import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createYielder } from '../../../concurrency/yielder.ts';
import { listUnixListeners } from '../../../network/unix-listeners.ts';
import { ObstacleError, type ObstacleKind } from '../../../obstacle.ts';
import { listDescriptors, readDescriptor, requireFewDescriptors } from './descriptors/list-descriptors.ts';

const DEADLINE_MS = 2_000;

/**
 * Resolves when none of the processes has a connection that the host made to the agent: one end of it cannot be kept.
 * The agent closes its own end when the other one is closed. Rejects with an `ObstacleError` when some stay open, or when
 * more files are open than can be checked. New ones may appear before the processes are frozen.
 */
export const waitForClosedHostConnections = async (pids: readonly number[]): Promise<void> => {
  await requireFewDescriptors(pids);
  const deadline = Date.now() + DEADLINE_MS;
  while (await hasHostConnection(pids)) {
    if (Date.now() > deadline) throw new ObstacleError({ kind: 'agent_connection' });
    await sleep(5);
  }
};

/** Both ends of such a connection belong to the host's network, where the agent's end has the name it was bound to. */
export const hasHostConnection = async (pids: readonly number[]): Promise<boolean> => {
  const table = await readFile('/proc/self/net/unix', 'utf8');
  const inodes = new Set<string | undefined>(
    [...table.matchAll(/ (\d+) \/run\/envd\//g)].map((match) => match[1]),
  );
  if (inodes.size === 0) return false;
  const yielder = createYielder();
  for (const descriptor of listDescriptors(pids)) {
    if (inodes.has(/^socket:\[(\d+)\]$/.exec(readDescriptor(descriptor))?.[1])) return true;
    await yielder();
  }
  return false;
};

/** A listening socket with connections that CRIU cannot leave out. */
export interface PendingConnection {
  kind: Extract<ObstacleKind, 'pending_connection' | 'agent_connection'>;
  /** The inode of the listening socket. */
  inode: number;
}

/**
 * Finds connections that wait to be accepted and that CRIU cannot leave out: those whose other end is closed
 * (criu/sk-unix.c, "closed in-flight socket"), and those of the host to the agent, whose other end may be closed when
 * CRIU reads it. `pid` is that of a process in the sandbox's network.
 */
export const findPendingConnection = async (pid: number): Promise<PendingConnection | undefined> => {
  for await (const listeners of listUnixListeners(pid)) {
    for (const { name, inode, waiting } of listeners) {
      if (isOfAgent(name) && waiting.length > 0) return { kind: 'agent_connection', inode };
      if (waiting.includes(0)) return { kind: 'pending_connection', inode };
    }
  }
  return undefined;
};

const isOfAgent = (name: string): boolean => name.startsWith('/run/envd/');
