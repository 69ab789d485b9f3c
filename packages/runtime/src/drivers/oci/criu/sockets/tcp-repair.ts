import type { SocketOption } from './sandbox-sockets.ts';

/** The state of a TCP socket in which all of it can be read and set (linux/tcp.h). */
export const TCP_REPAIR: SocketOption = { level: 6, name: 19 };

/** Whether another socket may have its port, too (asm-generic/socket.h). `TCP_REPAIR` changes it, and leaving that ends it. */
export const SO_REUSEADDR: SocketOption = { level: 1, name: 2 };
