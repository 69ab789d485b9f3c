import type { Cgroup } from '../../cgroup/cgroup.ts';
import { readReusing } from './ready-sockets.ts';
import { visitSockets } from './sandbox-sockets.ts';
import { SO_REUSEADDR, TCP_REPAIR } from './tcp-repair.ts';

/**
 * Ends the repair mode of the processes' TCP sockets, in which CRIU reads them and leaves them when the processes do
 * not continue; freezes the processes where they are not. A socket that is closed in that mode does not notify its
 * peer, and one that is used in it fails. They are as before `readySockets`, which has written the file at `reusing`.
 * Does nothing about other sockets. Rejects as `freeze`.
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
