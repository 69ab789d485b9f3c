import { readFileSync } from 'node:fs';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';
import { ObstacleError } from '../../../../obstacle.ts';
import { observeProcess } from '../processes/observe-process.ts';
import type { SandboxSocket, SocketOption } from './sandbox-sockets.ts';

/**
 * Returns a check for each socket of frozen processes that are in one network, which throws an `ObstacleError` where an
 * urgent byte of a TCP connection, and what follows it, was not read: CRIU sees only what is before it.
 */
export const createUrgentDataCheck = (): ((socket: SandboxSocket) => void) => {
  let queues: ReadonlyMap<string, Queue> | undefined;
  return (socket) => {
    if (socket.get(TCP_REPAIR) === undefined) return;
    queues ??= readQueues(socket.pid);
    const queue = queues.get(socket.inode);
    const unread = socket.countUnread();
    if (queue === undefined || unread === undefined) return;
    if (!hasUrgentByte(socket, { ...queue, unread })) return;
    throw new ObstacleError({ kind: 'urgent_data', process: observeProcess(socket.pid) });
  };
};

/** What the kernel has received of a connection and the process has not read. */
interface Queue {
  bytes: number;
  /** Whether the other end has sent its last byte, which is counted as one more. */
  hasEnd: boolean;
  /** Whether its other end is at a loopback address. */
  isLocal: boolean;
}

const hasUrgentByte = (
  { get, measureRead }: SandboxSocket,
  { bytes, hasEnd, isLocal, unread }: Queue & { unread: number },
): boolean => {
  // One read ends before it.
  if (get(SO_OOBINLINE)) return unread > 0 && measureRead(unread) < unread;
  // A connection to the outside ends with the pause.
  return isLocal && bytes - unread > (hasEnd ? 1 : 0);
};

/** Returns the queues of TCP sockets by their inode, proc_net_tcp(5). */
const readQueues = (pid: number): ReadonlyMap<string, Queue> => {
  const tables = ['tcp', 'tcp6'].map(
    (name) => readIfPresent(() => readFileSync(`/proc/${pid}/net/${name}`, 'latin1')) ?? '',
  );
  const rows = tables.flatMap((table) => [
    ...table.matchAll(/^ *\d+: \S+ (\w+):\w+ (\w\w) \w+:(\w+) \S+ \S+ +\d+ +\d+ (\d+)/gm),
  ]);
  return new Map(
    rows
      .filter(([, , state]) => state !== LISTEN)
      .map(([, peer = '', state = '', bytes = '', inode = '']) => [
        inode,
        {
          bytes: Number.parseInt(bytes, 16),
          hasEnd: endedStates.includes(state),
          isLocal: loopback.test(peer),
        },
      ]),
  );
};

/** 127.0.0.0/8, also as an address of IPv6, and ::1. */
const loopback = /7F$|^0{24}01000000$/;
// linux/tcp_states.h: TCP_LISTEN, and TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK and TCP_CLOSING
const LISTEN = '0A';
const endedStates = ['07', '08', '09', '0B'];
// asm-generic/socket.h and linux/tcp.h
const SO_OOBINLINE: SocketOption = { level: 1, name: 10 };
const TCP_REPAIR: SocketOption = { level: 6, name: 19 };
