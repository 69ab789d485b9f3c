import type { Cgroup } from './cgroup.ts';
import { visitSockets } from './sandbox-sockets.ts';
import { TCP_REPAIR } from './tcp-repair.ts';

/**
 * Takes the TCP sockets of the processes, which it freezes where they are not, out of the state in which CRIU reads them and
 * leaves them when the processes are not to run on: a socket that is closed in it tells nobody, and one that is used in it
 * fails. Does nothing about the others. Rejects as `freeze`.
 */
export const endRepair = (cgroup: Pick<Cgroup, 'freeze' | 'members'>): Promise<void> =>
  visitSockets(cgroup, (socket) => {
    if (socket.get(TCP_REPAIR) === 1) socket.set(TCP_REPAIR, 0);
  });
