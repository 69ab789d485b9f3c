import type { Benchmark } from './benchmark.ts';
import { sampleCreates } from './create-samples.ts';
import { toRow } from './row.ts';

/** Nothing is started ahead. */
export const createCold: Benchmark = async ({ name, runs, stack }) => [
  toRow({ name, unit: 'ms', samples: await sampleCreates(stack, { runs }) }),
];
