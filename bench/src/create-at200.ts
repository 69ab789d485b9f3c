import type { Benchmark } from './benchmark.ts';
import { sampleCreates } from './create-samples.ts';
import { fillWith } from './fill.ts';
import { toRow } from './row.ts';
import { startBenchStack } from './stack.ts';

const LIVE = 200;

/** `create.cold` while 200 sandboxes idle, on a service of its own that allows so many; beside it the same with one. */
export const createAt200: Benchmark = async ({ name, runs, scale, resources }) => {
  const live = Math.round(LIVE * scale);
  const stack = await startBenchStack({ resources, args: ['--max-sandboxes', String(live + 10)] });
  await fillWith(stack, { count: 1, resources });
  const atOne = await sampleCreates(stack, { runs });
  await fillWith(stack, { count: live - 1, resources });
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
