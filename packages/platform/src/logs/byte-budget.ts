import type { Clock } from '../clock.ts';

/** A rate limit in bytes: an initial amount, and a further amount each second. */
export interface ByteBudget {
  /** Subtracts the bytes that were read; the balance may become negative. */
  take(bytes: number): void;
  /** How long to wait until the balance is positive; 0 when it is. */
  waitMs(): number;
}

export const createByteBudget = (options: {
  clock: Pick<Clock, 'elapsed'>;
  atOnce: number;
  aSecond: number;
}): ByteBudget => {
  const { clock, atOnce, aSecond } = options;
  let left = atOnce;
  let at = clock.elapsed();
  return {
    take: (bytes) => {
      const now = clock.elapsed();
      left = Math.min(atOnce, left + ((now - at) / 1000) * aSecond) - bytes;
      at = now;
    },
    waitMs: () => (left > 0 ? 0 : Math.ceil((-left / aSecond) * 1000) + 1),
  };
};
