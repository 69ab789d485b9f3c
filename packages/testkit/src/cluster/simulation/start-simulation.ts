import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '@skerry/platform/postgres-server';
import { createPlatformClient, type PlatformClient } from '@skerry/platform-client';
import { makeNetworkLab } from '@skerry/runtime/testing';
import type { StackAddress } from '../../stack/stack-client.ts';
import { runSkerry, type Service, startProgram, startSkerry } from '../service.ts';
import type { NodeHostSettings } from './node-host.ts';

export interface Simulation {
  readonly postgres: PostgresServer;
  readonly servers: readonly Service[];
  readonly nodeHosts: readonly Service[];
  /** The addresses at which the servers reach each other. */
  readonly peers: readonly string[];
  readonly apis: readonly PlatformClient[];
  close(): Promise<void>;
}

const nodeProgram = join(import.meta.dirname, 'nodes/main.ts');
const API_PORT = 4_000;
const PEER_PORT = 4_100;
const FIRST_NODE_PORT = 7_400;
const SANDBOX_MEMORY_BYTES = 512 * 2 ** 20;

/**
 * Starts PostgreSQL, servers of the published program, and nodes in a few processes, on machines of a network lab. The
 * servers reach PostgreSQL over its unix socket, so that what goes through their networks is between them, the nodes and the clients.
 */
export const startSimulation = async (options: {
  servers: number;
  nodes: number;
  nodeHosts: number;
  sandboxesPerNode: number;
}): Promise<Simulation> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'skerry-simulation-'));
  cleanup.defer(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const numbered = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
  const serverNames = numbered('server', options.servers);
  const hostNames = numbered('host', options.nodeHosts);
  const nodeNames = numbered('node', options.nodes);
  const lab = await makeNetworkLab([...serverNames, ...hostNames]);
  cleanup.defer(() => lab.close());
  const certificates = join(folder, 'certificates');
  await runSkerry(['node', 'cert', '--dir', certificates, ...nodeNames]);

  const postgres = await startPostgres({
    isDurable: true,
    settings: ['shared_preload_libraries=pg_stat_statements'],
  });
  cleanup.defer(() => postgres.remove());
  await postgres.query('create extension pg_stat_statements');
  const databaseFile = join(folder, 'database');
  writeFileSync(databaseFile, await postgres.createDatabase(), { mode: 0o600 });

  const placed = nodeNames.map((name, index) => ({
    name,
    machine: hostNames[index % hostNames.length] as string,
    port: FIRST_NODE_PORT + index,
  }));
  const nodeHosts: Service[] = [];
  for (const machine of hostNames) {
    const settings: NodeHostSettings = {
      ...{ folder, certificates, host: lab.host(machine).address },
      nodes: placed.filter((node) => node.machine === machine),
      room: {
        sandboxes: options.sandboxesPerNode,
        memoryBytes: options.sandboxesPerNode * SANDBOX_MEMORY_BYTES,
        cpuCount: 64,
      },
    };
    const command = [...lab.host(machine).through, process.execPath, nodeProgram, JSON.stringify(settings)];
    const { service } = await startProgram(command);
    nodeHosts.push(service);
    cleanup.defer(() => service.stop('SIGKILL'));
  }

  const nodesFile = join(folder, 'nodes');
  writeFileSync(
    nodesFile,
    placed.map(({ name, machine, port }) => `${name}=${lab.host(machine).address}:${port}\n`).join(''),
  );
  const servers: Service[] = [];
  const peers = serverNames.map((name) => `${lab.host(name).address}:${PEER_PORT}`);
  const apis: PlatformClient[] = [];
  for (const [index, name] of serverNames.entries()) {
    const dataDir = join(folder, name);
    const [first = ''] = serverNames;
    if (name !== first) {
      mkdirSync(dataDir, { mode: 0o700 });
      for (const file of ['secret', 'api-key']) copyFileSync(join(folder, first, file), join(dataDir, file));
    }
    const { service, ready } = await startSkerry(
      [
        ...['server', '--port', String(API_PORT), '--data', dataDir, '--json', '--nodes', nodesFile],
        ...['--database-file', databaseFile, '--peer-listen', peers[index] as string],
        ...['--cert', join(certificates, 'platform.crt'), '--key', join(certificates, 'platform.key')],
        ...['--ca', join(certificates, 'ca.crt')],
        ...['--max-sandboxes', String(options.nodes * options.sandboxesPerNode)],
      ],
      { through: lab.host(name).through },
    );
    servers.push(service);
    cleanup.defer(() => service.stop('SIGKILL'));
    const port = await lab.forward(name, { host: '127.0.0.1', port: API_PORT });
    const { apiKey } = ready as StackAddress;
    apis.push(createPlatformClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey }));
  }
  const running = cleanup.move();
  return { postgres, servers, nodeHosts, peers, apis, close: () => running.disposeAsync() };
};
