import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { TOO_LATE, toLastAnswer } from './malformed-requests.ts';

/** How long the head of the first request on a connection may take, and how late the end of that time may be noticed. */
export const firstHeadTimes = { headMs: 10_000, checkMs: 5_000 };

/**
 * Ends connections of a server on which no request has come for `headMs`, with 408. What waits to be read is read first: Node's own
 * `headersTimeout` also ends connections whose request came in time, while this process stood still. Returns what must be called with the
 * socket of each request.
 */
export const limitFirstHead = (
  server: Server,
  { headMs, checkMs }: typeof firstHeadTimes,
): ((socket: Socket) => void) => {
  const openedAt = new Map<Socket, number>();
  server.on('connection', (socket: Socket) => {
    openedAt.set(socket, performance.now());
    socket.once('close', () => openedAt.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    const late = [...openedAt].flatMap(([socket, at]) => (now - at >= headMs ? [socket] : []));
    if (late.length === 0) return;
    // The event loop reads from sockets between its timers and what was set here.
    setImmediate(() => {
      for (const socket of late) {
        if (!openedAt.delete(socket) || !socket.writable) continue;
        socket.write(toLastAnswer(TOO_LATE));
        socket.destroySoon();
      }
    });
  }, checkMs);
  timer.unref();
  server.once('close', () => clearInterval(timer));
  return (socket) => void openedAt.delete(socket);
};
