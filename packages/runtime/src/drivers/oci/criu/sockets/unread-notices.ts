import { ObstacleError } from '../../../../obstacle.ts';
import { observeProcess } from '../processes/observe-process.ts';
import type { SandboxSocket } from './sandbox-sockets.ts';

/**
 * Discards multicast notices of the kernel, as that of a new address, from a netlink socket on which they were not
 * read: CRIU cannot dump such a socket with pending messages. A listener must expect to miss some, netlink(7). Does
 * nothing about other sockets. Throws an `ObstacleError` when an answer is pending: a process may wait for it for ever.
 */
export const dropUnreadNotices = ({ pid, get, peek, drop }: SandboxSocket): void => {
  if (get(SO_DOMAIN) !== AF_NETLINK) return;
  for (let sender = peek(); sender !== undefined; sender = peek()) {
    if (sender.readUInt32LE(GROUPS_AT) === 0)
      throw new ObstacleError({ kind: 'netlink_reply', process: observeProcess(pid) });
    drop();
  }
};

// asm-generic/socket.h
const SO_DOMAIN = { level: 1, name: 39 };
const AF_NETLINK = 16;
/** `struct sockaddr_nl`, linux/netlink.h: the multicast groups of a message; zero when it was sent to one socket. */
const GROUPS_AT = 8;
