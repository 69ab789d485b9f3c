import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '@skerry/platform/postgres-server';
import { expect } from 'vitest';
import { type Cluster, type Replica, startCluster } from './cluster.ts';

/** A cluster of two servers that share a database and the nodes. */
export interface Replicas {
  readonly cluster: Cluster;
  readonly postgres: PostgresServer;
  /** The server that owns a node, by the highest epoch in the logs. */
  ownerOf(node: string): Replica;
  /** The states of all nodes, as one server says. */
  statesAt(replica: Replica): Promise<string[]>;
  /** Resolves when each server owns a node, and both say that all are ready. */
  areShared(): Promise<void>;
  /** The sandboxes whose files are on the nodes. */
  onNodes(): string[];
  close(): Promise<void>;
}

/** Starts PostgreSQL and a cluster; resolves when every node takes sandboxes. */
export async function startReplicas({
  nodes,
  serverArgs = [],
}: {
  nodes: readonly string[];
  serverArgs?: readonly string[];
}): Promise<Replicas> {
  await using cleanup = new AsyncDisposableStack();
  const postgres = await startPostgres();
  cleanup.defer(() => postgres.remove());
  const folder = mkdtempSync(join(tmpdir(), 'skerry-database-'));
  cleanup.defer(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'url');
  writeFileSync(file, await postgres.createDatabase(), { mode: 0o600 });
  const cluster = await startCluster({
    nodes,
    serverArgs: ['--database-file', file, ...serverArgs],
    servers: 2,
  });
  cleanup.defer(() => cluster.close());

  const ownerOf = (node: string): Replica => {
    const claims = cluster.replicas.flatMap((replica) =>
      replica
        .service()
        .log()
        .split('\n')
        .filter((line) => line.includes('this server owns a node'))
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
  const running = cleanup.move();
  return {
    cluster,
    postgres,
    ownerOf,
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
    close: () => running.disposeAsync(),
  };
}

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
