import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeNetworkLab, type NetworkLab } from '@skerry/runtime/testing';
import { imagesDir } from '../stack/images-dir.ts';
import { createStackClient, type StackAddress, type StackClient } from '../stack/stack-client.ts';
import { refuseUndeclared } from '../stack/undeclared.ts';
import { runSkerry, type Service, startSkerry } from './service.ts';

/** One server of a cluster. */
export interface Replica extends StackClient {
  /** The name of its machine in the network of the lab. */
  readonly machine: string;
  /** Where the other servers reach it. */
  readonly peerAddress: string;
  /** Starts it, after an end. */
  start(...more: string[]): Promise<Service>;
  service(): Service;
}

/** A server without sandboxes of its own and its nodes, each on a machine of a network lab. */
export interface Cluster extends StackClient {
  /** All servers, the first of which is the one of the other members. They share a database. */
  readonly replicas: readonly Replica[];
  readonly lab: NetworkLab;
  /** Uses this `skerry` for all that is started from now on. */
  use(program: string): void;
  /** Starts the node of that name again, after an end. */
  startNode(name: string): Promise<Service>;
  node(name: string): Service;
  nodeFolder(name: string): string;
  /** Starts the server, after an end, with these arguments too. */
  startServer(...more: string[]): Promise<Service>;
  server(): Service;
  /** The folder of the server. */
  readonly serverFolder: string;
  /** What all of them have logged so far, in that order. */
  log(): string;
  /** Runs `skerry` against the server. Rejects when it exits with another status than 0. */
  skerry(...args: string[]): Promise<string>;
  /** Runs `skerry` on the machine of the tests. Rejects when it exits with another status than 0. */
  run(...args: string[]): Promise<string>;
  /** The state of each node, as "skerry node ls" shows it. */
  states(): Promise<Record<string, string>>;
  /** The metrics of the server or a node, by name. */
  metrics(name: string): Promise<ReadonlyMap<string, number>>;
  /** The node on which a sandbox was started, as its log says. */
  nodeOf(sandboxId: string): Promise<string>;
  /** Ends all sandboxes. */
  killAll(): Promise<void>;
  close(): Promise<void>;
}

const answerCheck = new URL('../stack/check-answers.ts', import.meta.url).href;
const SERVER = 'platform';
const API_PORT = 4_000;
const PEER_PORT = 4_100;
export const NODE_PORT = 7_400;
const METRICS_PORT = 9_100;
/** Only programs of the same machine can read them. */
const metricsArgs = ['--metrics-listen', `127.0.0.1:${METRICS_PORT}`];

export interface ClusterOptions {
  nodes: readonly string[];
  nodeArgs?: readonly string[];
  /** A function is called before the first program is started. */
  serverArgs?: readonly string[] | ((lab: NetworkLab) => Promise<readonly string[]>);
  /** More than one need a database among the arguments. */
  servers?: number;
  /** The arguments of a server that say which nodes there are. */
  list?: (lab: NetworkLab) => Promise<readonly string[]>;
  /** Names of further machines of the network. */
  machines?: readonly string[];
  /** Default: true. A server whose answers are checked is slower. */
  checksAnswers?: boolean;
  /** Path of `skerry`. Default: that of this checkout. */
  program?: string;
}

/** Starts a cluster and resolves when every node takes sandboxes. */
export async function startCluster({
  nodes,
  nodeArgs = [],
  serverArgs = [],
  servers = 1,
  list = async (lab) => nodes.flatMap((name) => ['--node', `${name}=${lab.host(name).address}:${NODE_PORT}`]),
  machines = [],
  checksAnswers = true,
  ...options
}: ClusterOptions): Promise<Cluster> {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'skerry-cluster-'));
  cleanup.defer(() => rmSync(folder, { recursive: true }));
  const serverNames = Array.from({ length: servers }, (_, index) =>
    index === 0 ? SERVER : `${SERVER}-${index + 1}`,
  );
  const lab = await makeNetworkLab([...serverNames, ...nodes, ...machines]);
  cleanup.defer(() => lab.close());
  const moreServerArgs = typeof serverArgs === 'function' ? await serverArgs(lab) : serverArgs;
  const certificates = join(folder, 'certificates');
  await runSkerry(['node', 'cert', '--dir', certificates, ...nodes]);
  const files = (name: string): string[] => [
    ...['--cert', join(certificates, `${name}.crt`), '--key', join(certificates, `${name}.key`)],
    ...['--ca', join(certificates, 'ca.crt')],
  ];
  const services = new Map<string, Service>();
  let log = '';
  let { program } = options;
  const start = async (name: string, args: readonly string[], before: readonly string[] = []) => {
    const { service, ready } = await startSkerry(args, {
      ...{ through: lab.host(name).through, program, before },
      onLine: (line) => {
        log += `${line}\n`;
      },
    });
    services.set(name, service);
    return { service, ready };
  };
  const find = (name: string): Service => {
    const service = services.get(name);
    if (service === undefined) throw new Error(`${name} has not been started`);
    return service;
  };

  const nodeFolder = (name: string): string => join(folder, name);
  const startNode = async (name: string): Promise<Service> => {
    const listen = `${lab.host(name).address}:${NODE_PORT}`;
    const place = ['--listen', listen, '--data', nodeFolder(name), '--images', imagesDir];
    return (await start(name, ['node', ...place, ...files(name), '--json', ...metricsArgs, ...nodeArgs]))
      .service;
  };
  cleanup.defer(async () => {
    await Promise.all([...services.values()].map((service) => service.stop('SIGKILL')));
    for (const name of nodes) await runSkerry(['down', '--data', nodeFolder(name)], lab.host(name).through);
  });
  await Promise.all(nodes.map(startNode));

  const serverFolder = join(folder, SERVER);
  const listed = await list(lab);
  const openReplica = async (name: string): Promise<Replica> => {
    const port = await lab.forward(name, { host: '127.0.0.1', port: API_PORT });
    const url = `http://127.0.0.1:${port}`;
    const dataDir = join(folder, name);
    if (name !== SERVER) {
      mkdirSync(dataDir, { mode: 0o700 });
      for (const file of ['secret', 'api-key']) copyFileSync(join(serverFolder, file), join(dataDir, file));
    }
    const peerAddress = `${lab.host(name).address}:${PEER_PORT}`;
    const peer = servers > 1 ? ['--peer-listen', peerAddress] : [];
    const startReplica = async (...more: string[]) => {
      const place = ['--port', String(API_PORT), '--data', dataDir, '--domain', `localhost:${port}`, ...peer];
      const own = [...metricsArgs, ...moreServerArgs, ...more];
      const args = ['server', ...place, ...files('platform'), ...listed, '--json', ...own];
      return start(name, args, checksAnswers ? ['--import', answerCheck] : []);
    };
    const { ready } = await startReplica();
    const address: StackAddress = { ...(ready as StackAddress), apiUrl: url, sandboxUrl: url };
    const client = createStackClient({
      address,
      dataDir,
      readLog: async () => log,
    });
    const startAgain = async (...more: string[]): Promise<Service> => (await startReplica(...more)).service;
    return { ...client, machine: name, peerAddress, start: startAgain, service: () => find(name) };
  };
  const replicas: Replica[] = [];
  for (const name of serverNames) replicas.push(await openReplica(name));
  const [client] = replicas as [Replica];
  const { address } = client;
  const { apiUrl: url } = address;
  const connection = ['--api-url', url, '--api-key', address.apiKey];
  const skerry = (...args: string[]): Promise<string> => runSkerry([...args, ...connection]);
  const metricsPorts = new Map<string, Promise<number>>();
  const metrics = async (name: string): Promise<Map<string, number>> => {
    const port = metricsPorts.get(name) ?? lab.forward(name, { host: '127.0.0.1', port: METRICS_PORT });
    metricsPorts.set(name, port);
    const text = await (await fetch(`http://127.0.0.1:${await port}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      lines.map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(0, end), Number(line.slice(end + 1))];
      }),
    );
  };
  const running = cleanup.move();
  return {
    ...client,
    lab,
    use: (given) => {
      program = given;
    },
    startNode,
    nodeFolder,
    node: find,
    replicas,
    startServer: client.start,
    server: client.service,
    serverFolder,
    log: () => log,
    skerry,
    run: (...args) => runSkerry(args),
    states: async () => {
      const { data = [] } = await client.api.GET('/skerry/v1/nodes');
      return Object.fromEntries(data.map(({ name, state }) => [name, state]));
    },
    metrics,
    nodeOf: async (sandboxId) => {
      const { data } = await client.api.GET('/v2/sandboxes/{sandboxID}/logs', {
        params: { path: { sandboxID: sandboxId } },
      });
      const started = data?.logs.find(({ message }) => message === 'sandbox started');
      return started?.fields.node ?? 'none';
    },
    killAll: async () => {
      const { data = [] } = await client.api.GET('/v2/sandboxes', {});
      for (const { sandboxID } of data)
        await client.api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
    },
    close: async () => {
      await running.disposeAsync();
      refuseUndeclared(log);
    },
  };
}
