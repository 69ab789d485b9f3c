import { expect, it } from 'vitest';
import { EVERYTHING } from '../store/scope.ts';
import { listTeamSteps } from './team-metrics.ts';

const now = Date.UTC(2026, 0, 20, 12, 0, 45);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const asked: { from: number; to: number; stepMs: number; grain?: number }[] = [];
const store = {
  countSampled: async (window: { from: number; to: number; stepMs: number; grain: number }) => {
    asked.push(window);
    return new Map([[window.from / window.stepMs, 3]]);
  },
  countCreated: async ({ from, stepMs }: { from: number; stepMs: number }) => new Map([[from / stepMs, 6]]),
};

it('has a step for each half of a minute, also where nothing ran', async () => {
  const steps = await listTeamSteps(store, { scope: EVERYTHING, from: now - MINUTE_MS, to: now, now });
  expect(steps).toEqual([
    { at: now - 45_000, concurrent: 3, startRate: 0.2 },
    { at: now - 15_000, concurrent: 0, startRate: 0 },
  ]);
});

it('has the steps for which samples are kept, and none before', async () => {
  const lengthOf = async (ageMs: number) => {
    const steps = await listTeamSteps(store, { scope: EVERYTHING, from: now - ageMs, to: now, now });
    return [asked.at(-1)?.stepMs, asked.at(-1)?.grain, steps.length];
  };
  expect(await lengthOf(HOUR_MS)).toEqual([30_000, 0, 120]);
  expect(await lengthOf(24 * HOUR_MS)).toEqual([MINUTE_MS, 1, 1440]);
  const week = [15 * MINUTE_MS, 2, 7 * 24 * 4];
  expect(await lengthOf(7 * 24 * HOUR_MS)).toEqual(week);
  expect(await lengthOf(now)).toEqual(week);
  expect(
    await listTeamSteps(store, { scope: EVERYTHING, from: now + HOUR_MS, to: now + 2 * HOUR_MS, now }),
  ).toEqual([]);
});
