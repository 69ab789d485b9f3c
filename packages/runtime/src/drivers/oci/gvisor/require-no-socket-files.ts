import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIfPresent } from '../../../kernel/read-if-present.ts';
import { ObstacleError, type ObstacleKind } from '../../../obstacle.ts';

/** Closed sockets stay open at the sentry for a moment. */
const TRIES = 5;
const TRY_AFTER_MS = 50;

/**
 * Rejects with an `ObstacleError` while a unix socket that is bound to a file is open inside; those of the agent are a kind of
 * their own, since it closes them soon. runsc refuses that too, but its attempt drops what leads from the file to the socket: nothing could connect to it afterwards.
 */
export const requireNoSocketFiles = async (options: {
  /** The process of the sentry, and all of the sandbox, among them that of its files. */
  sentry: number;
  pids: readonly number[];
  signal: AbortSignal;
}): Promise<void> => {
  for (let tries = 1; ; tries++) {
    const kind = findSocketFile(options);
    if (kind === undefined) return;
    if (tries === TRIES) throw new ObstacleError({ kind });
    await sleep(TRY_AFTER_MS, undefined, { signal: options.signal });
  }
};

/** The process that binds the sockets keeps them open for ever; the sentry, as long as a process inside does. */
const findSocketFile = (options: { sentry: number; pids: readonly number[] }): ObstacleKind | undefined => {
  const namespaces = new Map(options.pids.map((pid) => [readLink(`/proc/${pid}/ns/net`), pid]));
  const bound = new Map([...namespaces.values()].flatMap(listBound));
  const folder = `/proc/${options.sentry}/fd`;
  const links = bound.size === 0 ? [] : readdirSync(folder).map((name) => readLink(`${folder}/${name}`));
  const paths = links
    .map((link) => bound.get(/^socket:\[(\d+)\]$/.exec(link ?? '')?.[1]))
    .filter((path) => path !== undefined);
  if (paths.length === 0) return undefined;
  return paths.every(isOfAgent) ? 'agent_connection' : 'socket_file';
};

/** Whether the agent binds to the path, before it gives the socket the name that clients use. */
const isOfAgent = (path: string): boolean => /^\/run\/envd\/(http|control)\.sock\.new$/.test(path);

const readLink = (path: string): string | undefined => readIfPresent(() => readlinkSync(path));

/** The unix sockets that were bound to a file in the network namespace of a process, proc_pid_net(5): inode → path. */
const listBound = (pid: number): [string | undefined, string][] => {
  const table = readIfPresent(() => readFileSync(`/proc/${pid}/net/unix`, 'latin1')) ?? '';
  return [...table.matchAll(/^\S+: \S+ \S+ \S+ \S+ \S+ +(\d+) (\/.*)$/gm)].map(([, inode, path = '']) => [
    inode,
    path,
  ]);
};
