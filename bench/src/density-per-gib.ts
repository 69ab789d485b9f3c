import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './benchmark.ts';
import { fillWith } from './fill.ts';
import { pidsOf, pssBytesOf } from './process-memory.ts';
import { toRow } from './row.ts';
import { startBenchStack } from './stack.ts';

/** What one GiB is to hold. */
const SANDBOXES = 90;
/** What a sandbox still allocates, and gives back, after its create has been answered. */
const SETTLE_MS = 6_000;
const SAMPLES = 5;
const SAMPLE_EVERY_MS = 500;
const GIB = 2 ** 30;

/**
 * How many idle sandboxes fit into one GiB, by the proportional set size of all their processes and by what server and helper
 * have grown for them since they had one, on a service of its own.
 */
export const densityPerGib: Benchmark = async ({ name, scale, resources }) => {
  const count = Math.round(SANDBOXES * scale);
  const stack = await startBenchStack({ resources });
  const hostBytes = (): number => Object.values(stack.pids()).reduce((sum, pid) => sum + pssBytesOf(pid), 0);
  // What all share is made, and the service warm.
  const ids = await fillWith(stack, { count: 1, resources });
  await delay(SETTLE_MS);
  const before = hostBytes();
  ids.push(...(await fillWith(stack, { count: count - 1, resources })));
  await delay(SETTLE_MS);
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    await delay(SAMPLE_EVERY_MS);
    const inside = ids.flatMap(pidsOf).reduce((sum, pid) => sum + pssBytesOf(pid), 0);
    samples.push((GIB * count) / (inside + Math.max(0, hostBytes() - before)));
  }
  return [
    toRow({
      name,
      unit: '1/GiB',
      samples,
      better: 'more',
      bound: { of: 'p50', atLeast: 90 },
      ifMissed: 'the heap of the agent, which is a Node process, and what the service keeps of each sandbox',
    }),
  ];
};
