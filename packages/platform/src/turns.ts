/** Lets a limited number of works run at a time; the others wait in the order of their calls. */
export interface Turns {
  /** Rejects as the work does, or with the reason of the signal when that aborts before the work begins. */
  take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Turns of which at most `limit` are taken at a time, 1 at least. */
export const createTurns = (limit: number): Turns => {
  let free = limit;
  const waiting: (() => void)[] = [];

  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };

  const wait = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      waiting.push(begin);
      signal?.addEventListener('abort', giveUp, { once: true });
    });

  return {
    take: async (work, signal) => {
      signal?.throwIfAborted();
      if (free > 0) free -= 1;
      else await wait(signal);
      try {
        signal?.throwIfAborted();
        return await work();
      } finally {
        leave();
      }
    },
  };
};
