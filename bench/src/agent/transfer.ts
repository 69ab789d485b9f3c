import { open } from 'node:fs/promises';
import type { Benchmark, BenchmarkContext } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';
import { type BenchSandbox, type Endpoint, startBenchSandbox } from './agent.ts';
import { startNginx } from './nginx.ts';
import { download, upload } from './raw-transfer.ts';

const SIZE_BYTES = 1_000_000_000;
const RUNS = 5;
const path = '/home/user/transfer.bin';

interface Sides {
  sandbox: BenchSandbox;
  nginx: Endpoint;
  sizeBytes: number;
}

const uploadToAgent = ({ sandbox, sizeBytes }: Sides): Promise<void> =>
  upload(sandbox, { method: 'POST', path: `/files?path=${path}`, sizeBytes });

/** 1 GB out of a sandbox by the agent's socket; the reference is the same file from nginx in the same sandbox. */
export const agentDownload: Benchmark = (context) =>
  measure(context, {
    async prepare(sides) {
      await uploadToAgent(sides);
      // Read once from outside of the sandbox's memory limit, so that both find it in the page cache.
      await readAll(context.stack.writtenPath(sides.sandbox.sandboxId, path));
    },
    before: async () => undefined,
    throughAgent: ({ sandbox, sizeBytes }) => download(sandbox, { path: `/files?path=${path}`, sizeBytes }),
    throughNginx: ({ nginx, sizeBytes }) => download(nginx, { path, sizeBytes }),
  });

/** 1 GB into a new file of a sandbox by the agent's socket; the reference is a PUT to nginx in the same sandbox. */
export const agentUpload: Benchmark = (context) =>
  measure(context, {
    prepare: async () => undefined,
    // Dirty pages of one side must not be flushed during the turn of the other.
    before: ({ sandbox }) => sandbox.run(`rm -f ${path} && sync`),
    throughAgent: uploadToAgent,
    throughNginx: ({ nginx, sizeBytes }) => upload(nginx, { method: 'PUT', path, sizeBytes }),
  });

interface Transfers {
  prepare: (sides: Sides) => Promise<void>;
  /** Runs before each turn, outside of the measured time. */
  before: (sides: Sides) => Promise<void>;
  throughAgent: (sides: Sides) => Promise<void>;
  throughNginx: (sides: Sides) => Promise<void>;
}

async function measure(context: BenchmarkContext, transfers: Transfers): ReturnType<Benchmark> {
  const sandbox = await startBenchSandbox(context);
  const sides: Sides = {
    sandbox,
    nginx: await startNginx(sandbox, context),
    sizeBytes: Math.round(SIZE_BYTES * context.scale),
  };
  await transfers.prepare(sides);
  const megabytesPerSecond = async (transfer: Transfers['throughAgent']): Promise<number> => {
    await transfers.before(sides);
    const startedMs = performance.now();
    await transfer(sides);
    return sides.sizeBytes / 1e6 / ((performance.now() - startedMs) / 1000);
  };
  const { samples, compared } = await samplePairs({
    warmUpRuns: 1,
    runs: RUNS,
    measure: () => megabytesPerSecond(transfers.throughAgent),
    beside: () => megabytesPerSecond(transfers.throughNginx),
  });
  return [
    toRow({
      name: context.name,
      unit: 'MB/s',
      samples,
      better: 'more',
      reference: { name: 'nginx', samples: compared },
      bound: { of: 'ratio', atLeast: 0.7 },
    }),
  ];
}

async function readAll(file: string): Promise<void> {
  await using handle = await open(file);
  const buffer = Buffer.alloc(1024 * 1024);
  while ((await handle.read(buffer, 0, buffer.length)).bytesRead > 0);
}
