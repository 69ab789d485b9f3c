import type { Cgroup } from '../../cgroup/cgroup.ts';
import { readReusing } from './ready-sockets.ts';
import { visitSockets } from './sandbox-sockets.ts';
import { SO_REUSEADDR, TCP_REPAIR } from './tcp-repair.ts';

/**
 * Takes the TCP sockets of the processes, which it freezes where they are not, out of the state in which CRIU reads them and
 * leaves them when the processes are not to run on: a socket that is closed in it tells nobody, and one that is used in it
 * fails. They are as they were before `readySockets`, which has written the file at `reusing`. Does nothing about the others.
 * Rejects as `freeze`.
 */
export const endRepair = async (
  cgroup: Pick<Cgroup, 'freeze' | 'members'>,
  { reusing }: { reusing: string },
): Promise<void> => {
  const inodes = readReusing(reusing);
  await visitSockets(cgroup, ({ inode, get, set }) => {
    if (get(TCP_REPAIR) !== 1) return;
    set(TCP_REPAIR, 0);
    if (inodes.has(inode)) set(SO_REUSEADDR, 1);
  });
};
