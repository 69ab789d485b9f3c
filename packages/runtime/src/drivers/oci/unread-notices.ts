import { readFile } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import type { Cgroup } from './cgroup.ts';
import { visitSockets } from './sandbox-sockets.ts';

/**
 * Takes what the kernel has told everybody, as that an address came, out of the netlink sockets in which nobody has read it:
 * CRIU writes down no such socket while something waits in it. Who listens there has to be ready to miss some, netlink(7). The
 * processes, of which `first` is one, are frozen. Rejects with `unavailable` when one has not read an answer, for which it may
 * wait for ever.
 */
export const dropUnreadNotices = async (
  cgroup: Pick<Cgroup, 'freeze' | 'members'>,
  first: number,
): Promise<void> => {
  const full = await findFull(first);
  if (full.size === 0) return;
  await visitSockets(cgroup, ({ inode, peek, drop }) => {
    if (!full.has(inode)) return;
    for (let sender = peek(); sender !== undefined; sender = peek()) {
      if (sender.readUInt32LE(GROUPS_AT) === 0)
        throw new RuntimeError('unavailable', 'a process has not read what netlink answered');
      drop();
    }
  });
};

/** Of `struct sockaddr_nl`, linux/netlink.h: to which groups a message went; zero when it went to one socket. */
const GROUPS_AT = 8;

/** The inodes of the netlink sockets in that process's network in which something waits. */
const findFull = async (pid: number): Promise<ReadonlySet<string>> => {
  const [, ...rows] = (await readFile(`/proc/${pid}/net/netlink`, 'utf8')).trim().split('\n');
  const sockets = rows.map((row) => row.split(/\s+/));
  return new Set(
    sockets.filter((fields) => fields[UNREAD_BYTES] !== '0').map((fields) => fields[INODE] ?? ''),
  );
};

// net/netlink/af_netlink.c, netlink_seq_show
const [UNREAD_BYTES, INODE] = [4, 9];
