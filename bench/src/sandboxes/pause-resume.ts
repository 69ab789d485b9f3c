import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import type { Benchmark } from '../harness/benchmark.ts';
import { startBenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';
import { startMemoryProcess } from './memory-process.ts';

const WARM_UP_RUNS = 1;
const SANDBOX_MIB = 2048;

interface Options {
  mib: number;
  atMostMs: number;
  /** The maximum number of samples. */
  most: number;
  ifMissed: string;
}

/**
 * The call that pauses a sandbox with its memory, and then the one that resumes it, with a process that uses `mib`
 * of memory. The reference: the same number of bytes written to a file beside the sandboxes, synced and read again.
 */
const measure =
  ({ mib, atMostMs, most, ifMissed }: Options): Benchmark =>
  async ({ name, runs, scale, resources }) => {
    const stack = await startBenchStack({ resources, args: ['--base-memory', String(SANDBOX_MIB)] });
    const heldMib = Math.ceil(mib * scale);
    let sandbox = await stack.createSandbox();
    const { requireAlive } = await startMemoryProcess(sandbox, { mib: heldMib });
    const samples: number[] = [];
    const references: number[] = [];
    for (let run = -WARM_UP_RUNS; run < Math.min(runs, most); run += 1) {
      const referenceMs = await writeAndRead(join(stack.dataDir, 'reference'), heldMib);
      const started = performance.now();
      await sandbox.pause();
      sandbox = await Sandbox.connect(sandbox.sandboxId, { ...stack.connection, timeoutMs: 600_000 });
      const tookMs = performance.now() - started;
      await requireAlive(sandbox);
      if (run < 0) continue;
      samples.push(tookMs);
      references.push(referenceMs);
    }
    await sandbox.kill();
    return [
      toRow({
        name,
        unit: 'ms',
        samples,
        reference: { name: 'write and read', samples: references },
        bound: { of: 'p50', atMost: atMostMs },
        ifMissed,
      }),
    ];
  };

export const pauseResume64m = measure({
  mib: 64,
  atMostMs: 150,
  most: Number.POSITIVE_INFINITY,
  ifMissed:
    'CRIU alone takes some 100 ms to write such processes, and as long to make them again, in one thread',
});
export const pauseResume1g = measure({
  mib: 1024,
  atMostMs: 2_500,
  most: 8,
  ifMissed: 'a pause is answered when everything is on the medium, which takes what the reference does',
});

const part = Buffer.alloc(2 ** 20, 'reference');

async function writeAndRead(path: string, mib: number): Promise<number> {
  const started = performance.now();
  await using file = await open(path, 'w');
  for (let written = 0; written < mib; written += 1) await file.write(part);
  await file.sync();
  await readFile(path);
  const tookMs = performance.now() - started;
  await rm(path);
  return tookMs;
}
