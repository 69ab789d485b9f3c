import type { Sandbox } from '@skerry/sdk';
import type { BenchStack } from '../harness/stack.ts';

/** The first creates make what all sandboxes share, and warm the service up. */
const WARM_UP_RUNS = 3;

/** From the create call to the first output of a command, in milliseconds, and the sandbox. */
export async function timeCreate(
  stack: Pick<BenchStack, 'createSandbox'>,
): Promise<{ sandbox: Sandbox; elapsedMs: number }> {
  const started = performance.now();
  const sandbox = await stack.createSandbox();
  let firstOutputAt = 0;
  await sandbox.commands.run('echo ready', {
    onStdout: () => {
      firstOutputAt ||= performance.now();
    },
  });
  return { sandbox, elapsedMs: firstOutputAt - started };
}

/** Times of creates one after the other; each sandbox is removed before the next. `between` is awaited before each. */
export async function sampleCreates(
  stack: Pick<BenchStack, 'createSandbox'>,
  { runs, between = async () => {} }: { runs: number; between?: () => Promise<void> },
): Promise<number[]> {
  const samples: number[] = [];
  for (let run = -WARM_UP_RUNS; run < runs; run += 1) {
    await between();
    const { sandbox, elapsedMs } = await timeCreate(stack);
    if (run >= 0) samples.push(elapsedMs);
    await sandbox.kill();
  }
  return samples;
}
