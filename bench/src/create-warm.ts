import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './benchmark.ts';
import { sampleCreates } from './create-samples.ts';
import { toRow } from './row.ts';
import { startBenchStack } from './stack.ts';

/** Longer than it takes to start the sandbox that replaces the one taken. */
const REFILL_MS = 500;

/** As `create.cold`, on a service of its own that keeps sandboxes started ahead; each create finds one waiting. */
export const createWarm: Benchmark = async ({ name, runs, resources }) => {
  const stack = await startBenchStack({ resources, args: ['--warm-min', '2'] });
  const samples = await sampleCreates(stack, { runs, between: () => delay(REFILL_MS) });
  return [toRow({ name, unit: 'ms', samples, bound: { of: 'p50', atMost: 25 } })];
};
