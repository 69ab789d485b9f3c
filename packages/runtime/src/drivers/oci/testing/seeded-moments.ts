import { onTestFailed } from 'vitest';

const GOLDEN_RATIO = 0.618_033_988_749_895;

/**
 * Moments that a seed decides and that never crowd: each call gives another one below its argument. The seed is another
 * each time, or `SKERRY_TEST_SEED`; a test that fails says which it was. To be called in a test.
 */
export const seededMoments = (): ((belowMs: number) => number) => {
  const given = Number(process.env.SKERRY_TEST_SEED);
  const seed = Number.isInteger(given) && given > 0 ? given : Math.ceil(Math.random() * 1_000_000);
  onTestFailed(() => console.error(`to repeat its moments: SKERRY_TEST_SEED=${seed}`));
  let turn = 0;
  return (belowMs) => {
    turn += 1;
    return ((seed * Math.SQRT2 + turn * GOLDEN_RATIO) % 1) * belowMs;
  };
};
