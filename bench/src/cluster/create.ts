import { findPostgres } from '@skerry/platform/postgres-server';
import { Sandbox } from '@skerry/sdk';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import type { BenchStack } from '../harness/stack.ts';
import { toRow } from '../report/row.ts';
import { timeCreate } from '../sandboxes/create-samples.ts';
import { withoutPostgres } from '../store/stores.ts';
import { startBenchCluster } from './bench-cluster.ts';

/** The create call to each of two servers in turn until the first output of a command; the reference is `skerry up`, alternately. */
export const clusterCreate: Benchmark = async ({ name, runs, stack, resources }) => {
  if (findPostgres() === undefined) return [withoutPostgres(name, 'ms')];
  const { replicas } = await startBenchCluster(resources);
  const time = async (creator: Pick<BenchStack, 'createSandbox'>): Promise<number> => {
    const { sandbox, elapsedMs } = await timeCreate(creator);
    await sandbox.kill();
    return elapsedMs;
  };
  const { samples, compared } = await samplePairs({
    // On each node at least one, through each server.
    warmUpRuns: 8,
    runs,
    measure: (run) => {
      const { connection } = replicas[Math.abs(run) % replicas.length] as (typeof replicas)[number];
      return time({ createSandbox: () => Sandbox.create({ ...connection, timeoutMs: 600_000 }) });
    },
    beside: () => time(stack),
  });
  const reference = { name: 'skerry up', samples: compared };
  return [toRow({ name, unit: 'ms', samples, reference, bound: { of: 'ratio', atMost: 1.5 } })];
};
