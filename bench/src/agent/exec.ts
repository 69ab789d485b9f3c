import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { startReference } from '../reference/start-reference.ts';
import { toRow } from '../report/row.ts';
import { createRpcClient, type RpcClient, startBenchSandbox } from './agent.ts';

const WARM_UP_CALLS = 100;
const program = '/bin/true';

/**
 * `Start` of /bin/true on the agent's socket until the end of its stream; the reference is `spawn` of Node in a small
 * process until `close`, without a protocol between caller and process.
 */
export const agentExec: Benchmark = async (context) => {
  const sandbox = await startBenchSandbox(context);
  const reference = await startReference(context.resources);
  const agent = createRpcClient(sandbox, { codec: 'json' });
  const { samples, compared } = await samplePairs({
    warmUpRuns: WARM_UP_CALLS,
    runs: 20 * context.runs,
    measure: () => timeExec(agent),
    beside: () => reference.spawn(program),
  });
  return [
    toRow({
      name: context.name,
      unit: 'ms',
      samples,
      reference: { name: 'spawn of Node', samples: compared },
      bound: { of: 'ratio', atMost: 3 },
    }),
  ];
};

async function timeExec({ process }: RpcClient): Promise<number> {
  const startedMs = performance.now();
  let ended = false;
  for await (const { event } of process.start({ process: { cmd: program }, stdin: false }))
    ended ||= event?.event.case === 'end';
  if (!ended) throw new Error('the stream had no end event');
  return performance.now() - startedMs;
}
