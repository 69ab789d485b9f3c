import type { SocketOption } from './sandbox-sockets.ts';

/** The state of a TCP socket in which all of it can be read and set (linux/tcp.h). */
export const TCP_REPAIR: SocketOption = { level: 6, name: 19 };
