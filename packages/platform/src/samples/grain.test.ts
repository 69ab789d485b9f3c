import { describe, expect, it } from 'vitest';
import { thin, toGrain, toOutdated, toStep } from './grain.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The samples that remain after `ranMs` of a sandbox that was sampled all the time. */
const keepAll = (ranMs: number): { at: number; grain: number }[] => {
  const start = 1_000_000 * 15 * minute + 1_234;
  const rows: { at: number; grain: number }[] = [];
  for (let at = start; at <= start + ranMs; at += 5_000)
    rows.push({ at, grain: toGrain(at, rows.at(-1)?.at) });
  const outdated = toOutdated(start + ranMs);
  return rows.filter((row) => outdated.every(({ grain, before }) => row.grain !== grain || row.at >= before));
};

describe('the grain of a sample', () => {
  it('keeps all of the last hour, a minute of the last day and a quarter of an hour of the last week', () => {
    const rows = keepAll(8 * day);
    const last = rows.at(-1)?.at ?? 0;
    const within = (from: number, to: number) =>
      rows.filter(({ at }) => last - at >= from && last - at < to).length;
    expect(within(0, hour)).toBe(720);
    expect(within(hour + minute, 2 * hour)).toBeGreaterThanOrEqual(58);
    expect(within(hour + minute, 2 * hour)).toBeLessThanOrEqual(60);
    expect(within(2 * day, 3 * day)).toBe(96);
    expect(within(7 * day + minute, 8 * day)).toBe(0);
    expect(rows.length).toBeLessThan(2_800);
  });

  it('of the first sample is the coarsest, so that samples of a short life are kept', () => {
    expect(toGrain(1_234_567, undefined)).toBe(2);
    expect(keepAll(0)).toHaveLength(1);
  });
});

describe('the steps of a response', () => {
  it.each([
    [hour - 1, 5_000, 0],
    [hour, 30_000, 0],
    [6 * hour, minute, 1],
    [12 * hour, 2 * minute, 1],
    [day, 5 * minute, 1],
    [7 * day, 15 * minute, 2],
    [400 * day, 15 * minute, 2],
  ])('over %i ms are %i ms, from rows of grain %i and coarser', (rangeMs, stepMs, grain) => {
    expect(toStep(rangeMs)).toEqual({ stepMs, grain });
  });

  it('contain the first sample of each step, and every sample at the finest grain', () => {
    const rows = [1, 29_999, 30_000, 59_999, 130_000].map((at) => ({ at }));
    expect(thin(rows, 30_000)).toEqual([{ at: 1 }, { at: 30_000 }, { at: 130_000 }]);
    expect(thin(rows, 5_000)).toEqual(rows);
  });
});
