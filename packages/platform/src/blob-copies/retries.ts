import type { Clock } from '../clock.ts';

/** When works that have failed are tried again: after a growing delay of their own. */
export interface Retries {
  /** Whether a work may be tried now. */
  isDue(key: string): boolean;
  /** Delays the next attempt: a second at first, then twice as long each time, a minute at most. */
  failed(key: string): void;
  /** Forgets the works that are not among these, and need no delay any more. */
  keep(keys: ReadonlySet<string>): void;
  /** Calls no `onDue` from now on. */
  close(): void;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;

/** Calls `onDue` whenever the delay of a work is over. */
export const createRetries = (clock: Clock, onDue: () => void): Retries => {
  const failures = new Map<string, { count: number; dueAt: number; cancel: () => void }>();
  let isClosed = false;
  return {
    isDue: (key) => clock.elapsed() >= (failures.get(key)?.dueAt ?? 0),
    failed: (key) => {
      if (isClosed) return;
      const before = failures.get(key);
      before?.cancel();
      const count = (before?.count ?? 0) + 1;
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - 1), LONGEST_DELAY_MS);
      const dueAt = clock.elapsed() + delayMs;
      failures.set(key, { count, dueAt, cancel: clock.after(delayMs, () => onDue()) });
    },
    keep: (keys) => {
      // One that is not due may have failed since the caller looked.
      for (const [key, { dueAt }] of failures)
        if (!keys.has(key) && clock.elapsed() >= dueAt) failures.delete(key);
    },
    close: () => {
      isClosed = true;
      for (const { cancel } of failures.values()) cancel();
    },
  };
};
