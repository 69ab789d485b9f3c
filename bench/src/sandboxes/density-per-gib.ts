import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from '../harness/benchmark.ts';
import { startBenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';
import { createIdleSandboxes } from './create-idle-sandboxes.ts';
import { pidsOf, pssBytesOf } from './process-memory.ts';

/** The bound for one GiB. */
const SANDBOXES = 90;
/** The time in which a sandbox still allocates and frees memory after its create. */
const SETTLE_MS = 6_000;
const SAMPLES = 5;
const SAMPLE_EVERY_MS = 500;
const GIB = 2 ** 30;

/**
 * How many idle sandboxes fit into one GiB, by the proportional set size of all their processes and the growth of
 * server and helper since the first one, on a separate service.
 */
export const densityPerGib: Benchmark = async ({ name, scale, resources }) => {
  const count = Math.round(SANDBOXES * scale);
  const stack = await startBenchStack({ resources });
  const hostBytes = (): number => Object.values(stack.pids()).reduce((sum, pid) => sum + pssBytesOf(pid), 0);
  // Creates what all sandboxes share, and warms the service up.
  const ids = await createIdleSandboxes(stack, { count: 1, resources });
  await delay(SETTLE_MS);
  const before = hostBytes();
  ids.push(...(await createIdleSandboxes(stack, { count: count - 1, resources })));
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
