import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';

/** Work that is repeated every minute, one round at a time. */
export interface Rounds {
  /** Runs the first round, then repeats it. Rejects as the first round does. */
  start(): Promise<void>;
  /** Runs a round after the one in progress. Rejects as it does. */
  runNow(): Promise<void>;
  /** Stops repeating, and resolves when no round is in progress. */
  close(): Promise<void>;
}

const INTERVAL_MS = 60_000;

export const createRounds = (
  run: () => Promise<void>,
  { onTick, clock, log }: { onTick: () => void; clock: Clock; log: Log },
): Rounds => {
  let closed = false;
  let cancelNext = (): void => {};
  let last = Promise.resolve();
  /** The round after the one in progress, until it begins: callers that come at the same time share it. */
  let next: Promise<void> | undefined;

  const repeat = (): void => {
    if (closed) return;
    cancelNext = clock.after(INTERVAL_MS, () => {
      onTick();
      last = last
        .then(run)
        .catch((error) => log.error('reconcile failed and will be retried', { error }))
        .then(repeat);
    });
  };

  return {
    start: async () => {
      await run();
      repeat();
    },
    runNow: async () => {
      if (next === undefined) {
        next = last.then(() => {
          next = undefined;
          return run();
        });
        last = next.catch(() => {
          // The callers receive the rejection; later rounds only wait for the end.
        });
      }
      await next;
    },
    close: async () => {
      closed = true;
      cancelNext();
      await last;
    },
  };
};
