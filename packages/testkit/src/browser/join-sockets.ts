import type { Socket } from 'node:net';

/** Passes the bytes of each socket on to the other, and ends both when one has ended. */
export function joinSockets(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  // An error is followed by the close.
  for (const [socket, peer] of [
    [one, other],
    [other, one],
  ] as const)
    socket.on('error', () => {}).once('close', () => void peer.destroy());
}
