import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Replica } from './cluster.ts';
import { type DatabaseCluster, startDatabaseCluster } from './database-cluster.ts';

/** A cluster of two servers, as a test sees it. */
export interface Replicas extends DatabaseCluster {
  /** The server that owns a node, by the highest epoch in the logs. */
  ownerOf(node: string): Replica;
  /** The lines with this text in the logs of both servers. */
  logged(text: string): string[];
  /** The states of all nodes, as one server says. */
  statesAt(replica: Replica): Promise<string[]>;
  /** Resolves when each server owns a node, and both say that all are ready. */
  areShared(): Promise<void>;
  /** The sandboxes whose files are on the nodes. */
  onNodes(): string[];
}

/** Starts PostgreSQL and a cluster; resolves when every node takes sandboxes. */
export async function startReplicas({
  nodes,
  serverArgs = [],
}: {
  nodes: readonly string[];
  serverArgs?: readonly string[];
}): Promise<Replicas> {
  const running = await startDatabaseCluster({ nodes, serverArgs });
  const { cluster } = running;

  const ownerOf = (node: string): Replica => {
    const claims = cluster.replicas.flatMap((replica) =>
      linesOf(replica, 'this server owns a node')
        .map((line) => JSON.parse(line) as { node: string; epoch: number })
        .filter((claim) => claim.node === node)
        .map(({ epoch }) => ({ replica, epoch })),
    );
    const [latest] = claims.toSorted((one, two) => two.epoch - one.epoch);
    if (latest === undefined) throw new Error(`no server has owned node ${node}`);
    return latest.replica;
  };
  const statesAt = async ({ api }: Replica): Promise<string[]> => {
    const { data = [] } = await api.GET('/skerry/v1/nodes');
    return data.map(({ state }) => state);
  };
  return {
    ...running,
    ownerOf,
    logged: (text) => cluster.replicas.flatMap((replica) => linesOf(replica, text)),
    statesAt,
    areShared: async () => {
      await expect.poll(() => new Set(nodes.map(ownerOf)).size).toBe(2);
      const ready = nodes.map(() => 'ready');
      await expect.poll(() => Promise.all(cluster.replicas.map(statesAt))).toEqual([ready, ready]);
    },
    onNodes: () =>
      nodes.flatMap((name) => {
        const sandboxes = join(cluster.nodeFolder(name), 'sandboxes');
        return existsSync(sandboxes) ? readdirSync(sandboxes) : [];
      }),
  };
}

const linesOf = ({ service }: Replica, text: string): string[] =>
  service()
    .log()
    .split('\n')
    .filter((line) => line.includes(text));

/** Repeats a call until it succeeds, as a client that heeds `Retry-After`. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  let made: T | undefined;
  await expect
    .poll(async () => {
      made = await call();
    })
    .toBeUndefined();
  return made as T;
}
