import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from '../harness/benchmark.ts';
import { startBenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';
import { sampleCreates } from './create-samples.ts';

/** Longer than the start and settling of the sandbox that replaces the claimed one. */
const REFILL_MS = 1_500;

/** `create.cold` on a separate service with a warm pool; each create claims a waiting sandbox. */
export const createWarm: Benchmark = async ({ name, runs, resources }) => {
  const stack = await startBenchStack({ resources, args: ['--warm-min', '2'] });
  const samples = await sampleCreates(stack, { runs, between: () => delay(REFILL_MS) });
  return [
    toRow({
      name,
      unit: 'ms',
      samples,
      bound: { of: 'p50', atMost: 25 },
      ifMissed:
        'what is left is two commits to the disk, /init, and the first command through SDK, edge and agent',
    }),
  ];
};
