import type { Benchmark } from '../harness/benchmark.ts';
import { type Bound, toRow } from '../report/row.ts';
import { sampleCreates } from './create-samples.ts';

/** Without a warm pool. Compared with `docker.run` if that was measured. */
export const createCold: Benchmark = async ({ name, runs, stack, measured }) => {
  const samples = await sampleCreates(stack, { runs });
  const docker = measured.find((row) => row.name === 'docker.run')?.p50 ?? undefined;
  const absolute: Bound = { of: 'p50', atMost: 100 };
  const relative: Bound = { of: 'ratio', atMost: 0.25 };
  return [
    toRow({
      name,
      unit: 'ms',
      samples,
      reference: docker === undefined ? undefined : { name: 'docker.run', samples: [docker] },
      bound: docker === undefined ? absolute : [absolute, relative],
      ifMissed:
        'about half is the start of Node and the agent inside, the rest many small steps of making the sandbox',
    }),
  ];
};
