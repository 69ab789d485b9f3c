import { connect, type Socket } from 'node:net';
import type { Destination } from './connection.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;

/** Connects to the destination and passes bytes on in both directions, those in `first` before all others. */
export const splice = (socket: Socket, first: Buffer, { address, port }: Destination): void => {
  const upstream = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
  const timer = setTimeout(() => upstream.destroy(), CONNECT_TIMEOUT_MS);
  upstream.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  upstream.write(first);
  joinSockets(socket, upstream);
};

/** Passes bytes on in both directions. An end is passed on as an end, and a failure as a reset. */
export const joinSockets = (one: Socket, other: Socket): void => {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setKeepAlive(true, KEEP_ALIVE_MS);
    from.on('error', () => {
      // The listener of `close` passes it on.
    });
    from.once('close', () => {
      // After both ends were passed on, the other side closes when it has sent what it still has.
      if (!from.readableEnded || !from.writableFinished) to.resetAndDestroy();
    });
    from.pipe(to);
  }
};
