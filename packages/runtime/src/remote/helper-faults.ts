/** How the helper ended: its exit status, the signal that ended it, or the reason why it could not start. */
export interface HelperFault {
  how: string;
  /** The faults of the last minute or, where that is more, the consecutive ones before it was ready; with this one. */
  count: number;
  /** Whether `count` counts consecutive faults, which may have taken longer than a minute. */
  isStarting: boolean;
  /** Milliseconds until the next start; undefined when there were too many faults for one. */
  restartInMs: number | undefined;
}

const WINDOW_MS = 60_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;

/**
 * Counts the faults of the helper and returns the delay until its next start. The delay doubles with each fault within a
 * minute, from 100 ms to 1 s. There is no further start after `limit` faults within a minute, or after `limit` consecutive
 * faults before the helper was ready, which may take any time. 0 means no limit.
 */
export function createFaultCount({
  limit,
  now = () => performance.now(),
}: {
  limit: number;
  now?: () => number;
}): {
  /** Counts one; `wasReady` says that this helper had become ready. */
  add(how: string, options: { wasReady: boolean }): HelperFault;
} {
  let times: number[] = [];
  let neverReady = 0;
  return {
    add: (how, { wasReady }) => {
      const at = now();
      times = [...times.filter((time) => at - time < WINDOW_MS), at];
      neverReady = wasReady ? 0 : neverReady + 1;
      const count = Math.max(times.length, neverReady);
      const isOver = limit > 0 && count >= limit;
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - 1), LONGEST_DELAY_MS);
      return { how, count, isStarting: neverReady > times.length, restartInMs: isOver ? undefined : delayMs };
    },
  };
}
