/** How the helper ended: the status that it exited with, the signal that ended it, or why it could not be started. */
export interface HelperFault {
  how: string;
  /** Faults within the last minute, this one included. */
  count: number;
  /** Milliseconds until it is started again; undefined when it is not, as there were too many. */
  restartInMs: number | undefined;
}

const WINDOW_MS = 60_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;

/**
 * Counts what the helper died of, and says what follows: a delay that doubles with each fault within a minute, from 100 ms to
 * 1 s, and no further start from the fault on that makes it `limit` within a minute. 0 is no limit.
 */
export function createFaultCount({
  limit,
  now = () => performance.now(),
}: {
  limit: number;
  now?: () => number;
}): {
  add(how: string): HelperFault;
} {
  let times: number[] = [];
  return {
    add: (how) => {
      const at = now();
      times = [...times.filter((time) => at - time < WINDOW_MS), at];
      const count = times.length;
      const isOver = limit > 0 && count >= limit;
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - 1), LONGEST_DELAY_MS);
      return { how, count, restartInMs: isOver ? undefined : delayMs };
    },
  };
}
