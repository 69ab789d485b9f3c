// How servers and database cope with many nodes and sandboxes in which nothing runs:
// node packages/testkit/src/cluster/simulation/main.ts --nodes 200 --sandboxes 20000 [--servers 2] [--idle-seconds 130]
// With --kill-server, also how long the others need to take over the nodes of one that is killed in the end.
import { parseArgs } from 'node:util';
import { runSimulation, type SimulationRow } from './run-simulation.ts';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '200' },
    sandboxes: { type: 'string', default: '20000' },
    servers: { type: 'string', default: '2' },
    'idle-seconds': { type: 'string', default: '130' },
    'kill-server': { type: 'boolean', default: false },
  },
});
const parseCount = (name: Exclude<keyof typeof values, 'kill-server'>): number => {
  const count = Number(values[name]);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new Error(`--${name} must be a positive integer, got ${values[name]}`);
};

const sandboxes = parseCount('sandboxes');
const servers = parseCount('servers');
const killsServer = values['kill-server'];
if (killsServer && servers < 2) throw new Error('--kill-server needs another server: --servers 2 or more');
const { rows, takeover } = await runSimulation({
  servers,
  nodes: parseCount('nodes'),
  steps: [0.05, 0.25, 0.5, 1].map((share) => Math.ceil(sandboxes * share)),
  idleMs: parseCount('idle-seconds') * 1_000,
  killsServer,
  onProgress: (what) => console.error(what),
});

const round = (value: number): string => String(Number(value.toPrecision(3)));
const columns: Record<string, (row: SimulationRow) => string> = {
  sandboxes: (row) => String(row.sandboxes),
  'creates/s': (row) => round(row.createsPerSecond),
  'create p50, p95 ms': ({ createMs }) => `${round(createMs.p50)}, ${round(createMs.p95)}`,
  refused: (row) => String(row.refused),
  'list ms': (row) => round(row.listMs),
  'statements/s': ({ idle }) => round(idle.statements),
  'transactions/s': ({ idle }) => round(idle.transactions),
  'WAL KB/s': ({ idle }) => round(idle.walBytes / 1_000),
  'network KB/s': (row) => round(row.idleNetworkBytes / 1_000),
  'cpus: servers': ({ idleCpus }) => round(idleCpus.servers ?? 0),
  database: ({ idleCpus }) => round(idleCpus.database ?? 0),
  nodes: ({ idleCpus }) => round(idleCpus.nodes ?? 0),
  'server MB': (row) => round(row.serverMemoryBytes / 1e6),
};
console.log(`| ${Object.keys(columns).join(' | ')} |`);
console.log(`|${' --- |'.repeat(Object.keys(columns).length)}`);
for (const row of rows)
  console.log(
    `| ${Object.values(columns)
      .map((cell) => cell(row))
      .join(' | ')} |`,
  );
if (takeover !== undefined)
  console.log(
    `a server was killed: all nodes had another one after ${round(takeover.ownedMs / 1_000)} s, and were ready after ${round(takeover.readyMs / 1_000)} s`,
  );
