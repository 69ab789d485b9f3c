import type { Clock } from '../clock.ts';

/** A clock that advances only on request. */
export const createManualClock = () => {
  let now = 1_000_000_000_123;
  let setBackMs = 0;
  const timers = new Map<() => void, number>();
  const clock: Clock = {
    now: () => now - setBackMs,
    elapsed: () => now,
    after: (delayMs, run) => {
      timers.set(run, now + delayMs);
      return () => timers.delete(run);
    },
  };
  const advance = (ms: number) => {
    const target = now + ms;
    for (;;) {
      const next = [...timers].filter(([, at]) => at <= target).sort((a, b) => a[1] - b[1])[0];
      if (next === undefined) break;
      timers.delete(next[0]);
      now = Math.max(now, next[1]);
      next[0]();
    }
    now = target;
  };
  /** Sets the time of day, as an administrator sets the clock of a host. */
  const setBack = (ms: number) => {
    setBackMs += ms;
  };
  return { clock, advance, setBack, timers };
};
