import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findHeldBy } from '../../faults/lifecycle/orphans.ts';
import type { Cluster } from '../cluster.ts';

/** More than a minute: a snapshot that was deleted through another server than its owner goes in the next round of that one. */
const SETTLE_MS = 90_000;

/** Returns what is left of sandboxes on nodes that run none. A removal may wait for a round. */
export const findRest = async (cluster: Cluster, nodes: readonly string[]): Promise<string[]> => {
  for (const deadline = performance.now() + SETTLE_MS; ; await delay(100)) {
    const rest = nodes.flatMap((name) => {
      const folder = cluster.nodeFolder(name);
      return [
        ...['sandboxes', 'snapshots'].flatMap((part) => readdirSync(join(folder, part))),
        ...findHeldBy(cluster.node(name).pid, folder),
      ].map((what) => `${what} on ${name}`);
    });
    if (rest.length === 0 || performance.now() > deadline) return rest;
  }
};
