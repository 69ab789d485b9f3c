import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';
import { agentPidOf, pssBytesOf } from '../sandboxes/process-memory.ts';
import { createRpcClient, type RpcClient, startBenchSandbox } from './agent.ts';

const PROCESSES = 1000;
const WARM_UP_PROCESSES = 10;

/**
 * 1,000 processes at the same time, each without a reader after its start: the time of each start until
 * its first event, the agent's memory for each, and `List` of all.
 */
export const agentProcesses: Benchmark = async (context) => {
  const { name, runs, scale } = context;
  const sandbox = await startBenchSandbox(context);
  const client = createRpcClient(sandbox, { codec: 'json' });
  for (let index = 0; index < WARM_UP_PROCESSES; index += 1) await startSleeper(client);
  const agentPid = agentPidOf(sandbox.sandboxId);
  const before = pssBytesOf(agentPid);
  const starts: number[] = [];
  const count = Math.round(PROCESSES * scale) - WARM_UP_PROCESSES;
  for (let index = 0; index < count; index += 1) starts.push(await startSleeper(client));
  const grownBytes = pssBytesOf(agentPid) - before;
  const lists: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedMs = performance.now();
    const { processes } = await client.process.list({});
    lists.push(performance.now() - startedMs);
    const live = count + WARM_UP_PROCESSES;
    if (processes.length !== live) throw new Error(`${processes.length} of ${live} processes are listed`);
  }
  return [
    toRow({ name: `${name}.start`, unit: 'ms', samples: starts }),
    toRow({ name: `${name}.memory`, unit: 'KiB', samples: [grownBytes / 1024 / count] }),
    toRow({ name: `${name}.list`, unit: 'ms', samples: lists }),
  ];
};

async function startSleeper({ process }: RpcClient): Promise<number> {
  const leave = new AbortController();
  const startedMs = performance.now();
  const config = { cmd: '/bin/sleep', args: ['3600'] };
  const events = process.start({ process: config, stdin: false }, { signal: leave.signal });
  const first = await events[Symbol.asyncIterator]().next();
  const elapsedMs = performance.now() - startedMs;
  leave.abort();
  if (first.value?.event?.event.case !== 'start') throw new Error('a process was not started');
  return elapsedMs;
}
