import { mkdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createOperationRun, type OperationReport, watchLog } from '../../faults/lifecycle/operation-run.ts';
import { findOrphans } from '../../faults/lifecycle/orphans.ts';
import { createRandom } from '../../faults/random.ts';
import { awaitReady, awaitShared } from '../await-cluster.ts';
import { startBalancer } from '../balancer.ts';
import type { Cluster } from '../cluster.ts';
import { startDatabaseCluster } from '../database-cluster.ts';
import { createClusterFaults } from './cluster-faults.ts';
import { findRest } from './rest.ts';
import { watchSecondRuns } from './second-runs.ts';

export interface RandomRunOptions {
  seed: number;
  durationMs: number;
  /** About how many sandboxes there are. */
  sandboxCount: number;
  /** How many operations are under way at the same time. */
  lanes: number;
  /** Between the end of a fault and the next one, on average. */
  faultEveryMs: number;
  /** Called with each fault, when everything works again after it. */
  onFault?: (fault: { what: string; lastedMs: number; recoveredMs: number }) => void;
  /** Called at the end with what servers and nodes have logged. */
  onLog?: (log: string) => void;
}

export interface RandomReport extends OperationReport {
  faults: Record<string, number>;
  /** How often all processes were looked at for sandboxes that run twice. */
  looks: number;
  /** The longest time from the end of a fault until every server said that every node is ready. */
  longestRecoveryMs: number;
  orphans: string[];
}

const NODES = ['a', 'b', 'c'];
const DATABASE_MACHINE = 'database';
/** Less than a lease, and more than two. */
const SHORTEST_MS = 200;
const LONGEST_MS = 14_000;

/**
 * Does random things to sandboxes of two servers and three nodes with PostgreSQL, each on a machine of a network lab, while one or two of them
 * at a time are killed, stopped, frozen or cut off. After each fault it waits until all works, and compares the states of all sandboxes. In
 * the end it looks at everything that was acknowledged, and for everything that is left when all of it is removed.
 */
export const runRandomFaults = async (options: RandomRunOptions): Promise<RandomReport> => {
  const { seed, durationMs, faultEveryMs, onFault, onLog, ...amounts } = options;
  const random = createRandom(seed);
  await using cleanup = new AsyncDisposableStack();
  const { cluster, postgres, close } = await startDatabaseCluster({
    nodes: NODES,
    databaseMachine: DATABASE_MACHINE,
    // No node is to be held for dead: then its sandboxes would be lost, as they should be.
    serverArgs: ['--node-dead-after', '1h'],
  });
  cleanup.defer(close);
  const balancer = cleanup.adopt(await startBalancer(), (one) => one.close());
  const serve = (replicas: Cluster['replicas']): void =>
    balancer.serve(replicas.map(({ address }) => address.apiUrl));
  serve(cluster.replicas);
  // The server that came second gets its share of the nodes, for which calls are refused meanwhile.
  await awaitReady(cluster);
  await awaitShared(cluster);

  const ids = new Set<string>();
  for (const name of NODES) {
    const sandboxes = join(cluster.nodeFolder(name), 'sandboxes');
    // Before there is anything in it, so that no id escapes.
    mkdirSync(sandboxes, { recursive: true, mode: 0o711 });
    const watcher = watch(sandboxes, (_, id) => id && ids.add(id));
    cleanup.defer(() => watcher.close());
  }
  const secondRuns = cleanup.adopt(watchSecondRuns(ids), (one) => one.stop());

  let isFaulty = false;
  let past = 0;
  const target = {
    connection: { ...cluster.connection, apiUrl: balancer.url, sandboxUrl: balancer.url },
    watchLog: () => watchLog(cluster.log),
  };
  const operations = createOperationRun({
    ...amounts,
    random,
    subject: {
      current: async () => target,
      watchFaults: () => {
        const [before, wasFaulty] = [past, isFaulty];
        return () => wasFaulty || isFaulty || past !== before;
      },
    },
  });
  const counts: Record<string, number> = {};
  let longestRecoveryMs = 0;

  const faults = createClusterFaults({
    ...{ cluster, postgres, nodes: NODES, databaseMachine: DATABASE_MACHINE, random, serve },
  });
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const untilMs = performance.now() + durationMs;

  /** Injects one fault, or two at once, and resolves when all works again. */
  const disturb = async (): Promise<void> => {
    const first = pick(Object.keys(faults));
    const second = random() < 0.3 ? pick(Object.keys(faults)) : first;
    // In their order: a server does not start without its database.
    const groups = Object.entries(faults).filter(([group]) => group === first || group === second);
    const chosen = groups.map(([, kinds]) => pick(Object.entries(kinds)));
    const lastsMs = SHORTEST_MS + random() * random() * (LONGEST_MS - SHORTEST_MS);
    isFaulty = true;
    const ends: (() => Promise<unknown>)[] = [];
    for (const [, begin] of chosen) ends.push(await begin());
    await delay(lastsMs);
    for (const end of ends) await end();
    const since = performance.now();
    const what = chosen.map(([name]) => name).join(' and ');
    await awaitReady(cluster);
    const recoveredMs = performance.now() - since;
    const release = await operations.hold();
    await awaitShared(cluster);
    await operations.compareStates(target);
    await operations.removeStrays(target);
    past += 1;
    isFaulty = false;
    release();
    counts[what] = (counts[what] ?? 0) + 1;
    longestRecoveryMs = Math.max(longestRecoveryMs, recoveredMs);
    onFault?.({ what, lastedMs: lastsMs, recoveredMs });
  };
  const disturber = async (): Promise<void> => {
    for (;;) {
      const waitMs = faultEveryMs * (0.5 + random());
      if (performance.now() + waitMs > untilMs) return;
      await delay(waitMs);
      await disturb();
    }
  };

  try {
    await Promise.all([disturber(), operations.run({ atMs: untilMs, leastOperations: 0 })]);
    await operations.finish();
  } finally {
    onLog?.(cluster.log());
  }
  await secondRuns.stop();
  const orphans = await findRest(cluster, NODES);
  const nodeFolders = NODES.map(cluster.nodeFolder);
  const { report } = operations;
  await cleanup.disposeAsync();
  for (const dataDir of nodeFolders) orphans.push(...(await findOrphans(dataDir, [...ids])));
  const losses = [...report.losses, ...secondRuns.found];
  return { ...report, losses, faults: counts, looks: secondRuns.looks, longestRecoveryMs, orphans };
};
