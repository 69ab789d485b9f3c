import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../error.ts';

const DEADLINE_MS = 2_000;

/**
 * Resolves when none of the processes has a connection that the host made to the agent: one end of it cannot be kept.
 * The agent closes its own when it finds the other one closed. Rejects with `unavailable` when some stay open.
 */
export const waitForQuiet = async (pids: readonly number[]): Promise<void> => {
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
  const inodes = new Set([...table.matchAll(/ (\d+) \/run\/envd\//g)].map((match) => match[1]));
  if (inodes.size === 0) return false;
  const links = await Promise.all(pids.map(readDescriptors));
  return links.flat().some((link) => inodes.has(/^socket:\[(\d+)\]$/.exec(link)?.[1]));
};

const readDescriptors = async (pid: number): Promise<string[]> => {
  const folder = `/proc/${pid}/fd`;
  // A process or a descriptor may be gone by now.
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
};
