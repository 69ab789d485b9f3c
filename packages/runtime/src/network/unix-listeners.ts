import { type NetlinkRequest, parseAttributes, parseList, toMessages } from '../kernel/netlink-message.ts';
import { type NetlinkSocket, openNetlink } from '../kernel/netlink-socket.ts';
import { inNetworkNamespace, openNetworkNamespace } from '../kernel/network-namespace.ts';

// linux/netlink.h, linux/sock_diag.h, linux/unix_diag.h, net/tcp_states.h
const NETLINK_SOCK_DIAG = 4;
const SOCK_DIAG_BY_FAMILY = 20;
const AF_UNIX = 1;
const TCP_LISTEN = 10;
const UDIAG_SHOW_NAME = 1;
const UDIAG_SHOW_ICONS = 8;
const UNIX_DIAG_NAME = 0;
const UNIX_DIAG_ICONS = 3;

/** A unix socket that listens. */
export interface UnixListener {
  /** The address as it was bound: empty without one, and with a leading NUL when it is abstract. */
  name: string;
  inode: number;
  /** The connections that wait to be accepted, by the inodes of their other ends: 0 when that end is closed. */
  waiting: number[];
}

/**
 * The unix sockets that listen in the network namespace of a process, in parts: code inside may have made any number of
 * them. Rejects with `unavailable` when there is no such process.
 */
export async function* listUnixListeners(pid: number): AsyncGenerator<UnixListener[]> {
  await using namespace = await openNetworkNamespace(pid);
  const socket = inNetworkNamespace(namespace, () => openNetlink(NETLINK_SOCK_DIAG));
  try {
    // The kernel makes the first part before it knows the size of the receive buffer, as small as possible: a socket
    // with a thousand connections does not fit and ends the list (net/unix/diag.c). From the second list on it knows
    // the size.
    for await (const _ of list(socket));
    yield* list(socket);
  } finally {
    socket.close();
  }
}

async function* list(socket: NetlinkSocket): AsyncGenerator<UnixListener[]> {
  await socket.send(toMessages([listRequest]));
  for (let isOver = false; !isOver; ) {
    const { bodies, isLast } = parseList(socket.receive(), SOCK_DIAG_BY_FAMILY);
    yield bodies.map(toListener);
    isOver = isLast;
  }
}

/** struct unix_diag_req: family, states, no inode, what to show, no cookie. */
const listRequest: NetlinkRequest = {
  type: SOCK_DIAG_BY_FAMILY,
  does: 'list',
  fixed: toFixed(),
  attributes: [],
};

function toFixed(): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt8(AF_UNIX, 0);
  bytes.writeUInt32LE(1 << TCP_LISTEN, 4);
  bytes.writeUInt32LE(UDIAG_SHOW_NAME | UDIAG_SHOW_ICONS, 12);
  return bytes;
}

/** struct unix_diag_msg: family, type, state, the inode after 4 bytes, a cookie; its attributes after 16. */
function toListener(body: Buffer): UnixListener {
  const attributes = parseAttributes(body.subarray(16));
  const icons = attributes.get(UNIX_DIAG_ICONS) ?? Buffer.alloc(0);
  const waiting = Array.from({ length: icons.length / 4 }, (_, index) => icons.readUInt32LE(index * 4));
  return {
    name: attributes.get(UNIX_DIAG_NAME)?.toString() ?? '',
    inode: body.readUInt32LE(4),
    waiting,
  };
}
