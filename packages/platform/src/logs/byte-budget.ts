import type { Clock } from '../clock.ts';

/** So many bytes at once, and so many more each second. */
export interface ByteBudget {
  /** Takes what was read; what there is may become less than nothing. */
  take(bytes: number): void;
  /** How long to wait until there is something again; 0 when there is. */
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
