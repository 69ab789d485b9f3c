import { afterEach, expect, it, vi } from 'vitest';
import { seededMoments } from './seeded-moments.ts';

afterEach(() => vi.unstubAllEnvs());

const take = (seed: string): number[] => {
  vi.stubEnv('SKERRY_TEST_SEED', seed);
  const next = seededMoments();
  return Array.from({ length: 16 }, () => next(900));
};

it('are the same by the same seed, others by another, and spread over all of the time', () => {
  expect(take('7')).toEqual(take('7'));
  expect(take('8')).not.toEqual(take('7'));
  for (const seed of ['1', '2', '999999']) {
    const moments = take(seed);
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...moments)).toBeLessThan(900);
    expect(new Set(moments.map((ms) => Math.floor(ms / 225))).size).toBe(4);
  }
});
