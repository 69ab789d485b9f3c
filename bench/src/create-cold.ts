import type { Benchmark } from './benchmark.ts';
import { toRow } from './row.ts';

/** The first creates make what all sandboxes share, and warm the service up. */
const WARM_UP_RUNS = 3;

/** From the create call to the first output of a command, one after the other, nothing started ahead. */
export const createCold: Benchmark = async ({ name, runs, stack }) => {
  const samples: number[] = [];
  for (let run = -WARM_UP_RUNS; run < runs; run += 1) {
    const started = performance.now();
    const sandbox = await stack.createSandbox();
    let firstOutputAt = 0;
    await sandbox.commands.run('echo ready', {
      onStdout: () => {
        firstOutputAt ||= performance.now();
      },
    });
    if (run >= 0) samples.push(firstOutputAt - started);
    await sandbox.kill();
  }
  return [toRow({ name, unit: 'ms', samples })];
};
