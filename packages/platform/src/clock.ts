/** Time for the control plane; tests of expiry replace it. */
export interface Clock {
  /** Milliseconds since the epoch, an integer. */
  now(): number;
  /** Milliseconds since a fixed moment, unaffected by changes of the host's clock: for durations. */
  elapsed(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

// setTimeout fires at once when the delay does not fit in 31 bits.
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * The clock of this host. A delay beyond 24 days fires early, so callers that wait so long must check `now()` again.
 */
export const createSystemClock = (): Clock => ({
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
});

/** Resolves after that time, or as soon as the signal aborts. */
export const passTime = (clock: Pick<Clock, 'after'>, delayMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
