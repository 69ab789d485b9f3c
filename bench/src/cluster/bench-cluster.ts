import { type Cluster, startDatabaseCluster } from '@skerry/testkit';

/** Two servers with PostgreSQL, which syncs each commit, and three nodes, each on a machine of a network lab; removed with the resources. */
export async function startBenchCluster(resources: AsyncDisposableStack): Promise<Cluster> {
  const { cluster, close } = await startDatabaseCluster({
    nodes: ['a', 'b', 'c'],
    isDurable: true,
    checksAnswers: false,
  });
  if (resources.disposed) await close();
  resources.defer(close);
  return cluster;
}
