import type { Duplex } from 'node:stream';

/** The streams to one instance that this process has opened. */
export interface GuestConnections {
  /** Tracks the stream that `dial` opens until it is closed. Waits while no stream may be open. */
  open<S extends Duplex>(dial: () => Promise<S>): Promise<S>;
  /** Ends all streams, at once also for the other side, and opens none until the work is done. */
  interrupt<T>(work: () => Promise<T>): Promise<T>;
}

export const createGuestConnections = (): GuestConnections => {
  const streams = new Set<Duplex>();
  let interruption: Promise<unknown> | undefined;

  return {
    open: async (dial) => {
      for (;;) {
        await interruption;
        const stream = await dial();
        if (interruption === undefined) {
          streams.add(stream);
          stream.once('close', () => streams.delete(stream));
          return stream;
        }
        // Dial again: this connection was being opened when the interruption began.
        stream.destroy();
      }
    },
    interrupt: async (work) => {
      const result = work();
      const over = result.then(
        () => undefined,
        () => undefined,
      );
      const mine = Promise.all([interruption, over]).finally(() => {
        if (interruption === mine) interruption = undefined;
      });
      interruption = mine;
      for (const stream of streams) stream.destroy();
      return result;
    },
  };
};
