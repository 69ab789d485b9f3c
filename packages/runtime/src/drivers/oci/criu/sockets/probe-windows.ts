import type { Cgroup } from '../../cgroup/cgroup.ts';
import { visitSockets } from './sandbox-sockets.ts';
import { SO_REUSEADDR, TCP_REPAIR } from './tcp-repair.ts';

/**
 * Lets the restored connections of the processes, which it freezes where they are not, go on at once. What they sent while they
 * were restored did not arrive, and by themselves they would try again only after seconds. Rejects as `freeze`.
 */
export const probeWindows = (cgroup: Pick<Cgroup, 'freeze' | 'members'>): Promise<void> =>
  visitSockets(cgroup, (socket) => {
    const reuse = socket.get(SO_REUSEADDR);
    // Of TCP, and no longer being restored.
    if (socket.get(TCP_REPAIR) !== 0 || reuse === undefined) return;
    // On leaving that state the kernel asks the other end how much it takes (net/ipv4/tcp.c, do_tcp_setsockopt).
    socket.set(TCP_REPAIR, 1);
    socket.set(TCP_REPAIR, 0);
    socket.set(SO_REUSEADDR, reuse);
  });
