import { expect, it } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRetries } from './retries.ts';

it('delays each further attempt of a work twice as long, up to a minute, and forgets what is not kept when it is due', () => {
  const { clock, advance, timers } = createManualClock();
  let due = 0;
  const retries = createRetries(clock, () => {
    due += 1;
  });
  expect(retries.isDue('a')).toBe(true);
  for (const [index, delayMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
    retries.failed('a');
    advance(delayMs - 1);
    expect([due, retries.isDue('a'), retries.isDue('b')]).toEqual([index, false, true]);
    advance(1);
    expect([due, retries.isDue('a')]).toEqual([index + 1, true]);
  }
  retries.failed('b');
  retries.keep(new Set());
  expect([retries.isDue('a'), retries.isDue('b')]).toEqual([true, false]);
  retries.failed('a');
  advance(1_000);
  expect([retries.isDue('a'), timers.size]).toEqual([true, 0]);
  retries.failed('b');
  retries.close();
  retries.failed('a');
  expect(timers.size).toBe(0);
});
