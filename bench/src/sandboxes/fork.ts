import { Sandbox } from '@skerry/sdk';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';
import { startMemoryProcess } from './memory-process.ts';

const COUNT = 8;
const HELD_MIB = 1;
const WARM_UP_RUNS = 1;

/** The call that forks a running sandbox 8 times, with its processes; the reference is 8 creates at the same time. */
export const fork8: Benchmark = async ({ name, runs, stack, resources }) => {
  const source = await stack.createSandbox();
  resources.defer(async () => void (await source.kill()));
  const { requireAlive } = await startMemoryProcess(source, { mib: HELD_MIB });
  const samples: number[] = [];
  const references: number[] = [];
  for (let run = -WARM_UP_RUNS; run < runs; run += 1) {
    const begun = performance.now();
    const created = await Promise.all(Array.from({ length: COUNT }, () => stack.createSandbox()));
    const referenceMs = performance.now() - begun;
    await Promise.all(created.map((sandbox) => sandbox.kill()));
    const started = performance.now();
    const forks = await source.fork({ count: COUNT, timeoutMs: 600_000 });
    const tookMs = performance.now() - started;
    for (const fork of forks) if (!(fork instanceof Sandbox)) throw fork;
    const sandboxes = forks.filter((fork) => fork instanceof Sandbox);
    for (const fork of sandboxes) await requireAlive(fork);
    await Promise.all(sandboxes.map((fork) => fork.kill()));
    if (run < 0) continue;
    samples.push(tookMs);
    references.push(referenceMs);
  }
  return [
    toRow({
      name,
      unit: 'ms',
      samples,
      reference: { name: '8 creates', samples: references },
      bound: { of: 'p50', atMost: 400 },
      ifMissed: 'each of the 8 restores takes some 60 ms of processor time in CRIU and its programs alone',
    }),
  ];
};
