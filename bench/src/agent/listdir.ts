import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { startReference } from '../reference/start-reference.ts';
import { toRow } from '../report/row.ts';
import { createRpcClient, type RpcClient, startBenchSandbox } from './agent.ts';

const ENTRIES = 100_000;
const RUNS = 5;

/**
 * `ListDir` of a folder with 100,000 files; the reference is a bare connect-node handler with `readdir` and `lstat`.
 */
export const agentListdir: Benchmark = async (context) => {
  const count = Math.round(ENTRIES * context.scale);
  const sandbox = await startBenchSandbox(context);
  const reference = await startReference(context.resources);
  await sandbox.run(`mkdir /home/user/many && cd /home/user/many && seq ${count} | xargs touch`);
  const many = join(reference.folder, 'many');
  mkdirSync(many);
  for (let index = 1; index <= count; index += 1) writeFileSync(join(many, String(index)), '');
  const bare = createRpcClient({ ...reference, headers: {} }, { codec: 'binary' });
  const { samples, compared } = await samplePairs({
    warmUpRuns: 1,
    runs: RUNS,
    measure: () => timeListing(sandbox.client, { path: '/home/user/many', count }),
    beside: () => timeListing(bare, { path: many, count }),
  });
  return [
    toRow({
      name: context.name,
      unit: 'ms',
      samples,
      reference: { name: 'bare connect-node', samples: compared },
    }),
  ];
};

async function timeListing(
  { filesystem }: RpcClient,
  { path, count }: { path: string; count: number },
): Promise<number> {
  const startedMs = performance.now();
  const { entries } = await filesystem.listDir({ path, depth: 1 });
  if (entries.length !== count) throw new Error(`${entries.length} of ${count} entries were listed`);
  return performance.now() - startedMs;
}
