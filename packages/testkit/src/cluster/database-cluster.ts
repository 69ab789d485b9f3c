import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '@skerry/platform/postgres-server';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';

/** A cluster of two servers that share a database and the nodes. */
export interface DatabaseCluster {
  readonly cluster: Cluster;
  readonly postgres: PostgresServer;
  close(): Promise<void>;
}

export interface DatabaseClusterOptions extends Omit<ClusterOptions, 'servers' | 'machines' | 'serverArgs'> {
  serverArgs?: readonly string[];
  /** The machine of PostgreSQL. Default: servers reach it over a unix socket, which no cut affects. */
  databaseMachine?: string;
  /** Whether PostgreSQL syncs each commit. */
  isDurable?: boolean;
}

/** Starts PostgreSQL and a cluster; resolves when every node takes sandboxes. */
export async function startDatabaseCluster({
  databaseMachine,
  isDurable = false,
  serverArgs = [],
  ...options
}: DatabaseClusterOptions): Promise<DatabaseCluster> {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'skerry-database-'));
  cleanup.defer(() => rmSync(folder, { recursive: true }));
  const { promise: started, resolve: onStart } = Promise.withResolvers<PostgresServer>();
  const cluster = await startCluster({
    ...options,
    servers: 2,
    ...(databaseMachine !== undefined && { machines: [databaseMachine] }),
    serverArgs: async (lab) => {
      const machine = databaseMachine === undefined ? undefined : lab.host(databaseMachine);
      const postgres = await startPostgres({ isDurable, ...(machine && { machine }) });
      cleanup.defer(() => postgres.remove());
      onStart(postgres);
      const file = join(folder, 'url');
      writeFileSync(file, await postgres.createDatabase(), { mode: 0o600 });
      return ['--database-file', file, ...serverArgs];
    },
  });
  cleanup.defer(() => cluster.close());
  const postgres = await started;
  const running = cleanup.move();
  return { cluster, postgres, close: () => running.disposeAsync() };
}
