import type { Cgroup } from '../../cgroup/cgroup.ts';
import { visitSockets } from './sandbox-sockets.ts';
import { SO_REUSEADDR, TCP_REPAIR } from './tcp-repair.ts';

/**
 * Makes the restored connections of the processes continue at once; freezes the processes where they are not. Packets
 * that they sent during the restore did not arrive, and TCP would retransmit them only after seconds. Rejects as
 * `freeze`.
 */
export const probeWindows = (cgroup: Pick<Cgroup, 'freeze' | 'members'>): Promise<void> =>
  visitSockets(cgroup, (socket) => {
    const reuse = socket.get(SO_REUSEADDR);
    // TCP sockets that are not in repair mode.
    if (socket.get(TCP_REPAIR) !== 0 || reuse === undefined) return;
    // The kernel probes the window of the other end when a socket leaves that mode (net/ipv4/tcp.c,
    // do_tcp_setsockopt).
    socket.set(TCP_REPAIR, 1);
    socket.set(TCP_REPAIR, 0);
    socket.set(SO_REUSEADDR, reuse);
  });
