import { expect, it } from 'vitest';
import { createFaultCount } from './helper-faults.ts';

it('doubles the delay with each fault within a minute and gives up at the limit', () => {
  let ms = 0;
  const faults = createFaultCount({ limit: 4, now: () => ms });
  const restarts = [1, 2, 3, 4].map(() => faults.add('SIGSEGV', { wasReady: true }).restartInMs);
  expect(restarts).toEqual([100, 200, 400, undefined]);
  ms = 59_999;
  expect(faults.add('SIGSEGV', { wasReady: true })).toEqual({
    how: 'SIGSEGV',
    count: 5,
    isStarting: false,
    restartInMs: undefined,
  });
});

it('forgets a fault after a minute', () => {
  let ms = 0;
  const faults = createFaultCount({ limit: 2, now: () => ms });
  for (; ms < 600_000; ms += 60_000)
    expect(faults.add('1', { wasReady: true })).toEqual({
      how: '1',
      count: 1,
      isStarting: false,
      restartInMs: 100,
    });
});

it('never gives up without a limit, and waits 1 s at most', () => {
  const faults = createFaultCount({ limit: 0, now: () => 0 });
  const restarts = Array.from({ length: 20 }, () => faults.add('1', { wasReady: true }).restartInMs);
  expect(Math.max(...restarts.map((delay) => delay ?? Number.POSITIVE_INFINITY))).toBe(1_000);
});

it('gives up at the limit after deaths in a row before it was ready, however long each took', () => {
  let ms = 0;
  const faults = createFaultCount({ limit: 3, now: () => ms });
  const addAfterMinutes = (wasReady: boolean): number | undefined => {
    ms += 120_000;
    return faults.add('status 1', { wasReady }).restartInMs;
  };
  expect(addAfterMinutes(true)).toBe(100);
  expect([false, false, true, false, false, false].map(addAfterMinutes)).toEqual([
    100,
    200,
    100,
    100,
    200,
    undefined,
  ]);
});
