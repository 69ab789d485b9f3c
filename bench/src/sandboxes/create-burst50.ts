import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';
import { timeCreate } from './create-samples.ts';

const AT_ONCE = 50;
/** A run takes seconds and yields fifty samples. */
const RUNS_PER_BURST = 7;

/** Fifty concurrent creates: how long each waits for the first output of its command. */
export const createBurst50: Benchmark = async ({ name, runs, stack, resources }) => {
  const samples: number[] = [];
  // The first run warms up concurrent code.
  for (let burst = -1; burst < Math.ceil(runs / RUNS_PER_BURST); burst += 1) {
    const created = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => timeCreate(stack)));
    for (const result of created) {
      if (result.status === 'fulfilled')
        resources.defer(async () => void (await result.value.sandbox.kill()));
    }
    for (const result of created) {
      if (result.status === 'rejected') throw result.reason;
      if (burst >= 0) samples.push(result.value.elapsedMs);
      await result.value.sandbox.kill();
    }
  }
  return [
    toRow({
      name,
      unit: 'ms',
      samples,
      bound: { of: 'p95', atMost: 1500 },
      ifMissed:
        'two cores start so many agents a second: each takes tens of milliseconds of processor to start Node',
    }),
  ];
};
