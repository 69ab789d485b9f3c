import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformClient } from '@skerry/platform-client';
import { type Counters, readCounters, readMemoryBytes } from './counters.ts';
import { type Simulation, startSimulation } from './start-simulation.ts';
import { measureTakeover, type Takeover } from './takeover.ts';

export interface SimulationOptions {
  servers: number;
  nodes: number;
  /** How many sandboxes there are when it is looked at, one number after the other. */
  steps: readonly number[];
  /** How long it is looked at while nothing happens. */
  idleMs: number;
  /** Whether the first server is killed in the end. */
  killsServer: boolean;
  onProgress: (what: string) => void;
}

export interface SimulationResult {
  rows: SimulationRow[];
  /** Undefined when no server was killed. */
  takeover: Takeover | undefined;
}

/** What was measured with `sandboxes` running. */
export interface SimulationRow {
  sandboxes: number;
  /** Creates in a second, on the way to that number, and how long each took. */
  createsPerSecond: number;
  createMs: { p50: number; p95: number };
  /** Creates that were refused with 503, and tried again as it says. */
  refused: number;
  /** A page of 100, with the number of all. */
  listMs: number;
  /** What the database does in a second without calls. */
  idle: { statements: number; transactions: number; walBytes: number };
  /** Bytes through the networks of the servers in a second without calls. */
  idleNetworkBytes: number;
  /** Processors in use without calls. */
  idleCpus: Record<string, number>;
  /** The memory of the larger server. */
  serverMemoryBytes: number;
}

const MIN_NODE_HOSTS = 4;
/** The most of a process with nodes: each sandbox takes five of the 20,000 files that it may have open. */
const MAX_SANDBOXES_PER_HOST = 2_500;
const CREATES_AT_A_TIME = 32;
/** Creates are followed by what they have begun, such as the first samples. */
const REST_MS = 10_000;
const READY_MS = 900_000;

/** Starts servers and nodes, creates sandboxes up to each of the steps, and measures what they cost then. */
export const runSimulation = async (options: SimulationOptions): Promise<SimulationResult> => {
  const { nodes, servers, steps, idleMs, killsServer, onProgress } = options;
  const last = steps.at(-1) ?? 0;
  const started = performance.now();
  const simulation = await startSimulation({
    ...{ servers, nodes, nodeHosts: Math.max(MIN_NODE_HOSTS, Math.ceil(last / MAX_SANDBOXES_PER_HOST)) },
    // Half as much again, so that no node is full.
    sandboxesPerNode: Math.ceil((last / nodes) * 1.5),
  });
  try {
    const readyMs = await awaitReady(simulation, servers);
    onProgress(
      `all programs run after ${toSeconds(performance.now() - started)}, of which the nodes were shared in ${toSeconds(readyMs)}`,
    );
    const rows: SimulationRow[] = [];
    for (const sandboxes of steps) {
      const from = rows.at(-1)?.sandboxes ?? 0;
      const created = await createSandboxes(simulation.apis, sandboxes - from);
      onProgress(`${sandboxes} sandboxes`);
      await delay(REST_MS);
      const listMs = await timeList(simulation.apis);
      const idle = await watchIdle(simulation, idleMs);
      rows.push({ sandboxes, ...created, listMs, ...idle });
      onProgress(JSON.stringify(rows.at(-1)));
    }
    return { rows, takeover: killsServer ? await measureTakeover(simulation) : undefined };
  } finally {
    await simulation.close();
  }
};

const toSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Resolves when each server owns its share and every node is ready. */
async function awaitReady({ apis, servers }: Simulation, count: number): Promise<number> {
  const started = performance.now();
  for (;;) {
    const { data = [] } = await (apis[0] as PlatformClient).GET('/skerry/v1/nodes');
    const owned = new Map<string, number>();
    for (const { owner } of data) if (owner) owned.set(owner.address, (owned.get(owner.address) ?? 0) + 1);
    const share = Math.ceil(data.length / count);
    if (
      data.every(({ state }) => state === 'ready') &&
      owned.size === count &&
      [...owned.values()].every((one) => one <= share)
    )
      return performance.now() - started;
    if (performance.now() - started > READY_MS)
      throw new Error(
        `the nodes are not shared\n${servers.map((one) => one.log().slice(-4_000)).join('\n')}`,
      );
    await delay(500);
  }
}

async function createSandboxes(
  apis: readonly PlatformClient[],
  count: number,
): Promise<Pick<SimulationRow, 'createsPerSecond' | 'createMs' | 'refused'>> {
  const times: number[] = [];
  let begun = 0;
  let refused = 0;
  const started = performance.now();
  const lane = async (lane: number): Promise<void> => {
    const api = apis[lane % apis.length] as PlatformClient;
    while (begun < count) {
      begun += 1;
      const before = performance.now();
      for (;;) {
        const { error, response } = await api.POST('/v2/sandboxes', {
          body: { templateID: 'base', timeout: 86_400 },
        });
        if (error === undefined) break;
        const waitSeconds = Number(response.headers.get('retry-after') ?? Number.NaN);
        if (response.status !== 503 || Number.isNaN(waitSeconds))
          throw new Error(`a create answered ${response.status}: ${JSON.stringify(error)}`);
        refused += 1;
        await delay(waitSeconds * 1_000);
      }
      times.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: CREATES_AT_A_TIME }, (_, index) => lane(index)));
  const tookMs = performance.now() - started;
  times.sort((a, b) => a - b);
  const at = (fraction: number): number => times[Math.floor(fraction * (times.length - 1))] ?? 0;
  return { createsPerSecond: (count * 1_000) / tookMs, createMs: { p50: at(0.5), p95: at(0.95) }, refused };
}

async function timeList(apis: readonly PlatformClient[]): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 20; run += 1) {
    const before = performance.now();
    await (apis[run % apis.length] as PlatformClient).GET('/v2/sandboxes', {
      params: { query: { limit: 100 } },
    });
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b)[10] ?? 0;
}

async function watchIdle(
  { postgres, servers, nodeHosts }: Simulation,
  idleMs: number,
): Promise<Pick<SimulationRow, 'idle' | 'idleNetworkBytes' | 'idleCpus' | 'serverMemoryBytes'>> {
  const pids = (services: Simulation['servers']): number[] => services.map(({ pid }) => pid);
  const programs = { postgres, servers: pids(servers), nodeHosts: pids(nodeHosts) };
  const before = await readCounters(programs);
  await delay(idleMs);
  const after = await readCounters(programs);
  const perSecond = (read: (counters: Counters) => number): number =>
    ((read(after) - read(before)) * 1_000) / (after.atMs - before.atMs);
  return {
    idle: {
      statements: perSecond(({ database }) => database.statements),
      transactions: perSecond(({ database }) => database.transactions),
      walBytes: perSecond(({ database }) => database.walBytes),
    },
    idleNetworkBytes: perSecond(({ networkBytes }) => networkBytes),
    idleCpus: Object.fromEntries(
      Object.keys(after.cpuMs).map((name) => [name, perSecond(({ cpuMs }) => cpuMs[name] ?? 0) / 1_000]),
    ),
    serverMemoryBytes: Math.max(...programs.servers.map(readMemoryBytes)),
  };
}
