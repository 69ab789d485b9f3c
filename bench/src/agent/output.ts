import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { startReference } from '../reference/start-reference.ts';
import { toRow } from '../report/row.ts';
import { createRpcClient, type RpcClient, startBenchSandbox } from './agent.ts';

const SIZE_BYTES = 1_000_000_000;
const RUNS = 3;

/**
 * A program that writes 1 GB, read from the agent's socket in protobuf; the reference is a bare connect-node handler
 * that yields the output of the same program.
 */
export const agentOutput: Benchmark = async (context) => {
  const sandbox = await startBenchSandbox(context);
  const reference = await startReference(context.resources);
  const bare = createRpcClient({ ...reference, headers: {} }, { codec: 'binary' });
  const sizeBytes = Math.round(SIZE_BYTES * context.scale);
  const sizeOf = (run: number): number => (run < 0 ? Math.round(sizeBytes / 5) : sizeBytes);
  const { samples, compared } = await samplePairs({
    warmUpRuns: 1,
    runs: RUNS,
    measure: (run) => readOutput(sandbox.client, sizeOf(run)),
    beside: (run) => readOutput(bare, sizeOf(run)),
  });
  return [
    toRow({
      name: context.name,
      unit: 'MB/s',
      samples,
      better: 'more',
      reference: { name: 'bare connect-node', samples: compared },
    }),
  ];
};

async function readOutput({ process }: RpcClient, sizeBytes: number): Promise<number> {
  const startedMs = performance.now();
  let readBytes = 0;
  const config = { cmd: 'head', args: ['-c', String(sizeBytes), '/dev/zero'] };
  for await (const { event } of process.start({ process: config, stdin: false })) {
    if (event?.event.case === 'data') readBytes += event.event.value.output.value?.length ?? 0;
  }
  if (readBytes !== sizeBytes) throw new Error(`${readBytes} of ${sizeBytes} bytes arrived`);
  return sizeBytes / 1e6 / ((performance.now() - startedMs) / 1000);
}
