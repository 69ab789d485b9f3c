import { RuntimeError } from '../error.ts';

/** Limits how many callers work at a time; the others wait in the order of their calls. */
export interface Gate {
  /**
   * Resolves when there is a free place, with a function that frees it; calling that again does nothing. Rejects with
   * `unavailable` when the signal aborts first.
   */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
  /** Callers that have a place. */
  readonly inside: number;
  /** Callers that wait for one. */
  readonly waiting: number;
}

/** Creates a gate with `size` places. */
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
    new RuntimeError('unavailable', 'aborted while waiting for a free place', { cause: signal.reason });

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return waiting.size;
    },
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
