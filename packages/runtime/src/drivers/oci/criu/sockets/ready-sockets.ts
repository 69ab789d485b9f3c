import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type SandboxSocket, visitFrozenSockets } from './sandbox-sockets.ts';
import { SO_REUSEADDR, TCP_REPAIR } from './tcp-repair.ts';
import { dropUnreadNotices } from './unread-notices.ts';
import { createUrgentDataCheck } from './urgent-data.ts';

/**
 * Prepares the sockets of frozen processes for CRIU, and writes to the file at `reusing` what `endRepair` restores: the
 * kernel forgets it. Rejects with an `ObstacleError` when a socket cannot be kept.
 */
export const readySockets = async (
  pids: readonly number[],
  { reusing }: { reusing: string },
): Promise<void> => {
  const inodes: string[] = [];
  const requireNoUrgentData = createUrgentDataCheck();
  await visitFrozenSockets(pids, (socket) => {
    dropUnreadNotices(socket);
    requireNoUrgentData(socket);
    if (isReusing(socket)) inodes.push(socket.inode);
  });
  // A few bytes, while everything is frozen: handing them to other threads costs more.
  if (inodes.length === 0) rmSync(reusing, { force: true });
  else writeFileSync(reusing, inodes.join('\n'));
};

const isReusing = ({ get }: SandboxSocket): boolean =>
  get(TCP_REPAIR) !== undefined && get(SO_REUSEADDR) !== 0;

/** The inodes of the TCP sockets that had `SO_REUSEADDR`; none where the file is missing. */
export const readReusing = (reusing: string): ReadonlySet<string> => {
  try {
    return new Set(readFileSync(reusing, 'utf8').split('\n'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return new Set();
  }
};
