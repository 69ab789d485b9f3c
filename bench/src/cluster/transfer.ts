import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findPostgres } from '@skerry/platform/postgres-server';
import { toRouting } from '@skerry/testkit';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { temporaryFolder } from '../harness/temporary-folder.ts';
import { toRow } from '../report/row.ts';
import { withoutPostgres } from '../store/stores.ts';
import { type Endpoint, SIZE_BYTES } from '../transfer/transfers.ts';
import { startBenchCluster } from './bench-cluster.ts';

const program = join(import.meta.dirname, '../transfer/main.ts');
const WARM_UP_RUNS = 2;
const WAYS = ['upload', 'download'] as const;

/**
 * 100 MiB into and out of a sandbox, through the edge of a server and the door of its node; the reference is the edge of `skerry up`,
 * alternately. The clients run on the machine of their server.
 */
export const clusterTransfer: Benchmark = async ({ name, runs, stack, resources }) => {
  if (findPostgres() === undefined) return WAYS.map((way) => withoutPostgres(`${name}.${way}`, 'MiB/s'));
  const source = join(temporaryFolder(resources), 'source');
  writeFileSync(source, randomBytes(SIZE_BYTES));
  const cluster = await startBenchCluster(resources);
  const [replica] = cluster.replicas;
  const [there, here] = await Promise.all([
    cluster.createSandbox({ timeoutSeconds: 600 }),
    stack.createBareSandbox(),
  ]);
  const toEndpoint = (url: string, { sandboxId, accessToken }: typeof here): Endpoint => ({
    url: `${url}/files?path=transfer.bin`,
    headers: { ...toRouting(sandboxId), 'X-Access-Token': accessToken },
  });
  const rows = [];
  for (const way of WAYS) {
    const [through, local] = [
      startClient(
        resources,
        [way, JSON.stringify(toEndpoint(SERVER_URL, there)), source],
        replica && cluster.lab.host(replica.machine).through,
      ),
      startClient(resources, [way, JSON.stringify(toEndpoint(stack.connection.sandboxUrl, here)), source]),
    ];
    const { samples, compared } = await samplePairs({
      warmUpRuns: WARM_UP_RUNS,
      runs,
      measure: through,
      beside: local,
    });
    const reference = { name: 'skerry up', samples: compared };
    const bound = { of: 'ratio', atLeast: 0.7 } as const;
    rows.push(toRow({ name: `${name}.${way}`, unit: 'MiB/s', samples, better: 'more', reference, bound }));
  }
  return rows;
};

/** Where each server of a cluster listens on its machine. */
const SERVER_URL = 'http://127.0.0.1:4000';

/** Starts a client, which each call of the returned function makes transfer the file once; it resolves with the speed. */
function startClient(
  resources: AsyncDisposableStack,
  args: readonly string[],
  through: readonly string[] = [],
): () => Promise<number> {
  const [file = '', ...argv] = [...through, process.execPath, program, ...args];
  const child = spawn(file, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  resources.defer(() => void child.kill());
  const speeds = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    child.stdin.write('\n');
    const { value, done } = await speeds.next();
    if (done) throw new Error('the client of a transfer ended');
    return Number(value);
  };
}
