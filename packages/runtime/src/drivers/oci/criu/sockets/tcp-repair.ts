import type { SocketOption } from './sandbox-sockets.ts';

/** The mode of a TCP socket in which all of its state can be read and set (linux/tcp.h). */
export const TCP_REPAIR: SocketOption = { level: 6, name: 19 };

/**
 * Whether another socket may use its port, too (asm-generic/socket.h). `TCP_REPAIR` sets it, and leaving that mode
 * clears it.
 */
export const SO_REUSEADDR: SocketOption = { level: 1, name: 2 };
