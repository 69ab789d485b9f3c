import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';

const WARM_UP_RUNS = 2;

/** The call that ends a sandbox, until its response: by then everything of the sandbox is removed from the host. */
export const deleteSandbox: Benchmark = async ({ name, runs, stack }) => {
  const samples: number[] = [];
  for (let run = -WARM_UP_RUNS; run < runs; run += 1) {
    const sandbox = await stack.createSandbox();
    await sandbox.commands.run('echo ready');
    const started = performance.now();
    await sandbox.kill();
    if (run >= 0) samples.push(performance.now() - started);
  }
  return [toRow({ name, unit: 'ms', samples, bound: { of: 'p50', atMost: 30 } })];
};
