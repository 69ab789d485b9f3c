import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createOutputBudget } from './output-budget.ts';
import { createProcessOutput } from './process-output.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** When a process that writes much was held back and let go, for a reader that has gone. */
const holdFor = (holdMs: number) => {
  const held: boolean[] = [];
  const output = createProcessOutput({
    budget: createOutputBudget(),
    stallMs: 60_000,
    onHold: (isHeldBack) => held.push(isHeldBack),
  });
  output.subscribe({ holdMs }).unsubscribe();
  for (let piece = 0; piece < 16; piece += 1) output.write('stdout', Buffer.alloc(64 * 1024, 'x'));
  return held;
};

it.each([31_000, 3_600_000, 2 ** 32 - 1])('a reader that asked for %i ms is waited for 30 s', (holdMs) => {
  const held = holdFor(holdMs);
  vi.advanceTimersByTime(29_900);
  expect(held).toEqual([true]);
  vi.advanceTimersByTime(200);
  expect(held).toEqual([true, false]);
});

it('one that asked for less is waited for that long', () => {
  const held = holdFor(29_000);
  vi.advanceTimersByTime(28_900);
  expect(held).toEqual([true]);
  vi.advanceTimersByTime(200);
  expect(held).toEqual([true, false]);
});
