import { RuntimeError } from '../error.ts';

/** Lets so many in at a time, the others in the order in which they came. */
export interface Gate {
  /**
   * Resolves with the way out when there is room; taking it again does nothing. Rejects with `unavailable` when the signal
   * aborts first.
   */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
}

/** A gate with room for `size`. */
export const createGate = (size: number): Gate => {
  const waiting = new Set<() => void>();
  let inside = 0;

  const leave = (): void => {
    inside -= 1;
    const [next] = waiting;
    if (next === undefined) return;
    waiting.delete(next);
    next();
  };

  const aborted = (signal: AbortSignal): RuntimeError =>
    new RuntimeError('unavailable', 'aborted while others were first', { cause: signal.reason });

  return {
    enter: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(aborted(signal));
        const abort = (): void => {
          waiting.delete(admit);
          if (signal) reject(aborted(signal));
        };
        const admit = (): void => {
          signal?.removeEventListener('abort', abort);
          inside += 1;
          let isInside = true;
          resolve(() => {
            if (isInside) leave();
            isInside = false;
          });
        };
        if (inside < size) return admit();
        waiting.add(admit);
        signal?.addEventListener('abort', abort, { once: true });
      }),
  };
};
