import { RuntimeError } from '../../../../error.ts';
import type { SandboxSocket } from './sandbox-sockets.ts';

/**
 * Takes what the kernel has told everybody, as that an address came, out of a netlink socket in which nobody has read it: CRIU
 * writes down no such socket while something waits in it. Who listens there has to be ready to miss some, netlink(7). Does
 * nothing about other sockets. Throws `unavailable` when an answer waits: whoever asked may wait for it for ever.
 */
export const dropUnreadNotices = ({ get, peek, drop }: SandboxSocket): void => {
  if (get(SO_DOMAIN) !== AF_NETLINK) return;
  for (let sender = peek(); sender !== undefined; sender = peek()) {
    if (sender.readUInt32LE(GROUPS_AT) === 0)
      throw new RuntimeError('unavailable', 'a process has not read what netlink answered');
    drop();
  }
};

// asm-generic/socket.h
const SO_DOMAIN = { level: 1, name: 39 };
const AF_NETLINK = 16;
/** Of `struct sockaddr_nl`, linux/netlink.h: to which groups a message went; zero when it went to one socket. */
const GROUPS_AT = 8;
