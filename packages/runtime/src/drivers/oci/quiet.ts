import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../error.ts';
import { listDescriptors, readDescriptor, requireFewDescriptors } from './descriptors.ts';
import { createTurns } from './turns.ts';

const DEADLINE_MS = 2_000;

/**
 * Resolves when none of the processes has a connection that the host made to the agent: one end of it cannot be kept.
 * The agent closes its own when it finds the other one closed. Rejects with `unavailable` when some stay open, or when
 * more is open than can be looked through.
 */
export const waitForQuiet = async (pids: readonly number[]): Promise<void> => {
  await requireFewDescriptors(pids);
  const deadline = Date.now() + DEADLINE_MS;
  while (await hasHostConnection(pids)) {
    if (Date.now() > deadline)
      throw new RuntimeError('unavailable', 'connections to the agent are still open');
    await sleep(5);
  }
};

/** Both ends of such a connection belong to the host's network, where the agent's end has the name it was bound to. */
const hasHostConnection = async (pids: readonly number[]): Promise<boolean> => {
  const table = await readFile('/proc/self/net/unix', 'utf8');
  const inodes = new Set<string | undefined>(
    [...table.matchAll(/ (\d+) \/run\/envd\//g)].map((match) => match[1]),
  );
  if (inodes.size === 0) return false;
  const turns = createTurns();
  for (const descriptor of listDescriptors(pids)) {
    if (inodes.has(/^socket:\[(\d+)\]$/.exec(readDescriptor(descriptor))?.[1])) return true;
    await turns();
  }
  return false;
};
