import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { startReference } from '../reference/start-reference.ts';
import { toRow } from '../report/row.ts';
import { createRpcClient, type RpcClient, startBenchSandbox } from './agent.ts';

/** Both sides compile and connect first. */
const WARM_UP_CALLS = 300;

/**
 * `List` without processes, as JSON on the agent's socket; the reference is the same call to a bare connect-node
 * handler.
 */
export const agentUnary: Benchmark = async (context) => {
  const sandbox = await startBenchSandbox(context);
  const reference = await startReference(context.resources);
  const agent = createRpcClient(sandbox, { codec: 'json' });
  const bare = createRpcClient({ ...reference, headers: sandbox.headers }, { codec: 'json' });
  const { samples, compared } = await samplePairs({
    warmUpRuns: WARM_UP_CALLS,
    runs: 50 * context.runs,
    measure: () => timeList(agent),
    beside: () => timeList(bare),
  });
  return [
    toRow({
      name: context.name,
      unit: 'ms',
      samples,
      reference: { name: 'bare connect-node', samples: compared },
      bound: { of: 'ratio', atMost: 1.3 },
    }),
  ];
};

async function timeList({ process }: RpcClient): Promise<number> {
  const startedMs = performance.now();
  await process.list({});
  return performance.now() - startedMs;
}
