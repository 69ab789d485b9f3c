/** Lets a limited number of works run at a time; the others wait in the order of their calls. */
export interface Turns {
  /** Rejects as the work does, or with the reason of the signal when that aborts before the work begins. */
  take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Resolves with a function that ends the turn; calling that again does nothing. Rejects with the reason of the signal. */
  begin(signal?: AbortSignal): Promise<() => void>;
  readonly taken: number;
  readonly waiting: number;
}

/** Creates turns of which at most `limit` are taken at a time, 1 at least. */
export const createTurns = (limit: number): Turns => {
  const waiting = new Set<() => void>();
  let taken = 0;

  const toEnd = (): (() => void) => {
    let isOver = false;
    taken += 1;
    return () => {
      if (isOver) return;
      isOver = true;
      taken -= 1;
      const [next] = waiting;
      next?.();
    };
  };

  const begin = (signal?: AbortSignal): Promise<() => void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (taken < limit) return resolve(toEnd());
      const admit = (): void => {
        waiting.delete(admit);
        signal?.removeEventListener('abort', giveUp);
        resolve(toEnd());
      };
      const giveUp = (): void => {
        waiting.delete(admit);
        reject(signal?.reason);
      };
      waiting.add(admit);
      signal?.addEventListener('abort', giveUp, { once: true });
    });

  return {
    begin,
    take: async (work, signal) => {
      const end = await begin(signal);
      try {
        // The signal may have aborted since the turn began.
        signal?.throwIfAborted();
        return await work();
      } finally {
        end();
      }
    },
    get taken() {
      return taken;
    },
    get waiting() {
      return waiting.size;
    },
  };
};
