import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createYielder } from '../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../error.ts';
import { listUnixListeners } from '../../../network/unix-listeners.ts';
import { listDescriptors, readDescriptor, requireFewDescriptors } from './descriptors/list-descriptors.ts';

const DEADLINE_MS = 2_000;

/**
 * Resolves when none of the processes has a connection that the host made to the agent: one end of it cannot be kept.
 * The agent closes its own end when the other one is closed. Rejects with `unavailable` when some stay open, or when
 * more files are open than can be checked. New ones may appear before the processes are frozen.
 */
export const waitForClosedHostConnections = async (pids: readonly number[]): Promise<void> => {
  await requireFewDescriptors(pids);
  const deadline = Date.now() + DEADLINE_MS;
  while (await hasHostConnection(pids)) {
    if (Date.now() > deadline)
      throw new RuntimeError('unavailable', 'connections to the agent are still open');
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

/**
 * Whether connections wait to be accepted that CRIU cannot leave out: those whose other end is closed (criu/sk-unix.c,
 * "closed in-flight socket"), and those of the host to the agent, whose other end may be closed when CRIU reads it.
 * `pid` is that of a process in the sandbox's network.
 */
export const hasPendingConnection = async (pid: number): Promise<boolean> => {
  for await (const listeners of listUnixListeners(pid)) {
    if (listeners.some(({ name, waiting }) => waiting.includes(0) || (isOfAgent(name) && waiting.length > 0)))
      return true;
  }
  return false;
};

const isOfAgent = (name: string): boolean => name.startsWith('/run/envd/');
