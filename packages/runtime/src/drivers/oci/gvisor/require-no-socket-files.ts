import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIfPresent } from '../../../kernel/read-if-present.ts';
import { ObstacleError } from '../../../obstacle.ts';

/** The agent may remove the files of its sockets before it closes them. */
const TRIES = 5;
const TRY_AFTER_MS = 50;

/**
 * Rejects with an `ObstacleError` while a unix socket that is bound to a file is open inside. runsc refuses that too,
 * but its attempt drops what leads from the file to the socket: nothing could connect to it afterwards.
 */
export const requireNoSocketFiles = async (options: {
  /** The process of the sentry, and all of the sandbox, among them that of its files. */
  sentry: number;
  pids: readonly number[];
  signal: AbortSignal;
}): Promise<void> => {
  for (let tries = 1; hasSocketFile(options); tries++) {
    if (tries === TRIES) throw new ObstacleError({ kind: 'socket_file' });
    await sleep(TRY_AFTER_MS, undefined, { signal: options.signal });
  }
};

/** The process that binds the sockets keeps them open for ever; the sentry, as long as a process inside does. */
const hasSocketFile = ({ sentry, pids }: { sentry: number; pids: readonly number[] }): boolean => {
  const namespaces = new Map(pids.map((pid) => [readLink(`/proc/${pid}/ns/net`), pid]));
  const bound = new Set([...namespaces.values()].flatMap(listBound));
  const folder = `/proc/${sentry}/fd`;
  const links = bound.size === 0 ? [] : readdirSync(folder).map((name) => readLink(`${folder}/${name}`));
  return links.some((link) => bound.has(/^socket:\[(\d+)\]$/.exec(link ?? '')?.[1]));
};

const readLink = (path: string): string | undefined => readIfPresent(() => readlinkSync(path));

/** The inodes of the unix sockets that were bound to a file in the network namespace of a process, proc_pid_net(5). */
const listBound = (pid: number): (string | undefined)[] => {
  const table = readIfPresent(() => readFileSync(`/proc/${pid}/net/unix`, 'latin1')) ?? '';
  return table
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter(([, , , , , , , path]) => path?.startsWith('/'))
    .map(([, , , , , , inode]) => inode);
};
