import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';

type ClusterView = Awaited<ReturnType<typeof viewCluster>>;

const viewCluster = (cluster: Cluster) =>
  Promise.all(
    cluster.replicas.map(async ({ api, peerAddress }) => {
      const { data, error } = await api
        .GET('/skerry/v1/nodes', { signal: AbortSignal.timeout(ANSWER_MS) })
        .catch((cause: Error) => ({ data: undefined, error: { message: cause.message } }));
      const nodes = (data ?? []).map(({ name, state, problem, owner }) => ({
        name,
        state,
        problem,
        owner: owner?.address,
      }));
      return { peerAddress, nodes, problem: error?.message };
    }),
  );

const ANSWER_MS = 5_000;
const LIMIT_MS = 90_000;

const awaitView = async (
  cluster: Cluster,
  isMet: (view: ClusterView) => boolean,
  what: string,
): Promise<void> => {
  for (const deadline = performance.now() + LIMIT_MS; ; await delay(100)) {
    const view = await viewCluster(cluster);
    if (isMet(view)) return;
    if (performance.now() > deadline) throw new Error(`${what}\n${JSON.stringify(view, undefined, 2)}`);
  }
};

const isReady = (view: ClusterView): boolean =>
  view.every(
    ({ nodes }) =>
      nodes.length > 0 && nodes.every(({ state, owner }) => state === 'ready' && owner !== undefined),
  );

/** Resolves when every server says that every node is ready. Rejects when that takes too long. */
export const awaitReady = (cluster: Cluster): Promise<void> =>
  awaitView(cluster, isReady, 'not every server says that every node is ready');

/** Resolves when every server owns its share of the nodes too. */
export const awaitShared = (cluster: Cluster): Promise<void> =>
  awaitView(
    cluster,
    (view) => {
      const owners = new Set(view.flatMap(({ nodes }) => nodes.map(({ owner }) => owner)));
      return (
        isReady(view) &&
        view.every(({ peerAddress }) => owners.has(peerAddress)) &&
        owners.size === view.length
      );
    },
    'the nodes are not shared by the servers',
  );
