/** How the helper ended: the status that it exited with, the signal that ended it, or why it could not be started. */
export interface HelperFault {
  how: string;
  /** Faults within the last minute, or in a row before it was ready where these are more, this one included. */
  count: number;
  /** Whether `count` is of those in a row, which may have taken longer than a minute. */
  isStarting: boolean;
  /** Milliseconds until it is started again; undefined when it is not, as there were too many. */
  restartInMs: number | undefined;
}

const WINDOW_MS = 60_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;

/**
 * Counts what the helper died of, and says what follows: a delay that doubles with each fault within a minute, from 100 ms to
 * 1 s, and no further start from the fault on that makes it `limit` within a minute, or `limit` in a row before the helper was
 * ready, however long each took. 0 is no limit.
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
