import { expect, it } from 'vitest';
import { createFaultCount } from './helper-faults.ts';

it('doubles the delay with each fault within a minute and gives up at the limit', () => {
  let ms = 0;
  const faults = createFaultCount({ limit: 4, now: () => ms });
  const restarts = [1, 2, 3, 4].map(() => faults.add('SIGSEGV').restartInMs);
  expect(restarts).toEqual([100, 200, 400, undefined]);
  ms = 59_999;
  expect(faults.add('SIGSEGV')).toEqual({ how: 'SIGSEGV', count: 5, restartInMs: undefined });
});

it('forgets a fault after a minute', () => {
  let ms = 0;
  const faults = createFaultCount({ limit: 2, now: () => ms });
  for (; ms < 600_000; ms += 60_000)
    expect(faults.add('1')).toEqual({ how: '1', count: 1, restartInMs: 100 });
});

it('never gives up without a limit, and waits 1 s at most', () => {
  const faults = createFaultCount({ limit: 0, now: () => 0 });
  const restarts = Array.from({ length: 20 }, () => faults.add('1').restartInMs);
  expect(Math.max(...restarts.map((delay) => delay ?? Number.POSITIVE_INFINITY))).toBe(1_000);
});
