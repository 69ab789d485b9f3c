/** Bounds what the queries of one sandbox cost. */
export interface QueryLimit {
  /** Whether a query may be answered; `end` is to be called after it then. */
  begin(): boolean;
  end(): void;
}

/** The most queries that wait for an answer at a time. */
export const MAX_RUNNING = 64;

/** The most queries in a second. As many may come at once after a second without any. */
export const MAX_PER_SECOND = 500;

/** Starts with the queries of a second in hand. */
export const createQueryLimit = (now: () => number = () => performance.now()): QueryLimit => {
  let running = 0;
  let inHand = MAX_PER_SECOND;
  let filledAt = now();
  return {
    begin: () => {
      const at = now();
      inHand = Math.min(MAX_PER_SECOND, inHand + ((at - filledAt) / 1_000) * MAX_PER_SECOND);
      filledAt = at;
      if (running >= MAX_RUNNING || inHand < 1) return false;
      running += 1;
      inHand -= 1;
      return true;
    },
    end: () => {
      running -= 1;
    },
  };
};
