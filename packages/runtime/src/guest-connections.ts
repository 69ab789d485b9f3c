import type { Duplex } from 'node:stream';

/** The streams to one instance that this process has opened. */
export interface GuestConnections {
  /** Remembers a stream until it is closed. */
  add<S extends Duplex>(stream: S): S;
  /** Ends all of them, for the other side at once. */
  destroy(): void;
}

export const createGuestConnections = (): GuestConnections => {
  const open = new Set<Duplex>();
  return {
    add: (stream) => {
      open.add(stream);
      stream.once('close', () => open.delete(stream));
      return stream;
    },
    destroy: () => {
      for (const stream of open) stream.destroy();
    },
  };
};
