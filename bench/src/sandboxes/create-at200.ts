import type { Benchmark } from '../harness/benchmark.ts';
import { startBenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';
import { createIdleSandboxes } from './create-idle-sandboxes.ts';
import { sampleCreates } from './create-samples.ts';

const LIVE = 200;

/**
 * `create.cold` while 200 sandboxes idle, on a separate service that allows 200; the reference is a create beside
 * one.
 */
export const createAt200: Benchmark = async ({ name, runs, scale, resources }) => {
  const live = Math.round(LIVE * scale);
  const stack = await startBenchStack({ resources, args: ['--max-sandboxes', String(live + 10)] });
  await createIdleSandboxes(stack, { count: 1, resources });
  const atOne = await sampleCreates(stack, { runs });
  await createIdleSandboxes(stack, { count: live - 1, resources });
  const samples = await sampleCreates(stack, { runs });
  return [
    toRow({
      name,
      unit: 'ms',
      samples,
      reference: { name: 'at one', samples: atOne },
      bound: { of: 'ratio', atMost: 1.5 },
    }),
  ];
};
