import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Census } from '@skerry/platform';
import type { RemoteRuntime } from '@skerry/runtime';
import { expect, it, onTestFinished } from 'vitest';
import { UserError } from '../user-error.ts';
import { addHostMetrics } from './host-metrics.ts';
import { type Metrics, openMetrics } from './open-metrics.ts';
import { addServiceMetrics } from './service-metrics.ts';

const open = async (): Promise<{ metrics: Metrics; warnings: unknown[]; scrape(): Promise<string[]> }> => {
  const warnings: unknown[] = [];
  const log = { info: () => {}, warn: (...line: unknown[]) => void warnings.push(line) };
  const metrics = await openMetrics({ host: '127.0.0.1', port: 0 }, log);
  onTestFinished(() => metrics.close());
  const scrape = async () => {
    const text = await (await fetch(metrics.url)).text();
    return text.split('\n').filter((line) => line.startsWith('skerry_'));
  };
  return { metrics, warnings, scrape };
};

const load = { placed: 2, memoryMb: 2_048, others: 1, snapshots: 0 };
const node: Census['nodes'][number] = {
  ...{ name: 'a', address: '10.0.0.1:1', epoch: 3, cordoned: false, seenAt: 1, lostAt: null, status: null },
  ...{ state: 'ready', problem: undefined, version: '1', load, isOwn: true, unschedulable: false },
  ...{ room: { sandboxes: 10, memoryMb: 4_096 }, owner: { address: '10.0.0.9:1', leaseAgeMs: 1_500 } },
};

it('counts operations by their result, and their time in seconds', async () => {
  const { metrics, scrape } = await open();
  const { telemetry, onDatabaseError } = addServiceMetrics(metrics);
  telemetry.onOperation({ operation: 'create', durationMs: 40, failure: undefined });
  telemetry.onOperation({ operation: 'create', durationMs: 2_000, failure: undefined });
  telemetry.onOperation({ operation: 'create', durationMs: 5, failure: 'resource_exhausted' });
  telemetry.onWarmClaim(true);
  telemetry.onWarmClaim(false);
  telemetry.onForward();
  onDatabaseError();
  const lines = await scrape();
  expect(lines).toEqual(
    expect.arrayContaining([
      'skerry_operation_duration_seconds_bucket{le="0.025",operation="create"} 0',
      'skerry_operation_duration_seconds_bucket{le="0.05",operation="create"} 1',
      'skerry_operation_duration_seconds_bucket{le="+Inf",operation="create"} 2',
      'skerry_operation_duration_seconds_sum{operation="create"} 2.04',
      'skerry_operation_duration_seconds_count{operation="create"} 2',
      'skerry_operation_failures_total{operation="create",reason="resource_exhausted"} 1',
      'skerry_warm_claims_total{result="hit"} 1',
      'skerry_warm_claims_total{result="miss"} 1',
      'skerry_forwarded_calls_total 1',
      'skerry_database_errors_total 1',
    ]),
  );
});

it('shows what there is at the time of the scrape, and leaves out what cannot be read then', async () => {
  const { metrics, warnings, scrape } = await open();
  let census: () => Promise<Census> = async () => ({
    sandboxes: [
      { node: 'a', state: 'running', isolation: 'container', count: 2 },
      { node: 'a', state: 'running', isolation: 'gvisor', count: 3 },
    ],
    nodes: [node],
    missingCopies: 1,
  });
  addServiceMetrics(metrics).watch({ census: () => census(), openStreams: () => 7 });
  expect(await scrape()).toEqual(
    expect.arrayContaining([
      'skerry_edge_open_streams 7',
      'skerry_sandboxes{state="running",isolation="container",node="a"} 2',
      'skerry_sandboxes{state="running",isolation="gvisor",node="a"} 3',
      'skerry_unstored 1',
      'skerry_node_state{node="a",state="ready"} 1',
      'skerry_node_owned{node="a"} 1',
      'skerry_node_epoch{node="a"} 3',
      'skerry_node_lease_age_seconds{node="a"} 1.5',
      'skerry_node_places{node="a"} 10',
      'skerry_node_placed{node="a"} 2',
      `skerry_node_memory_bytes{node="a"} ${2 ** 32}`,
      `skerry_node_reserved_memory_bytes{node="a"} ${2 ** 31}`,
    ]),
  );
  census = async () => ({
    sandboxes: [{ node: null, state: 'paused', isolation: 'container', count: 1 }],
    nodes: [],
    missingCopies: undefined,
  });
  const later = await scrape();
  expect(later.filter((line) => line.startsWith('skerry_sandboxes'))).toEqual([
    'skerry_sandboxes{state="paused",isolation="container"} 1',
  ]);
  expect(later.filter((line) => /^skerry_(node_|unstored)/.test(line))).toEqual([]);
  census = () => Promise.reject(new Error('no database'));
  const without = await scrape();
  expect(without).toContain('skerry_edge_open_streams 7');
  expect(without.filter((line) => line.startsWith('skerry_sandboxes'))).toEqual([]);
  expect(JSON.stringify(warnings)).toContain('some metrics could not be read');
});

it('answers GET of one path only, and says so', async () => {
  const { metrics } = await open();
  const response = await fetch(metrics.url);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await response.text()).toContain('\nprocess_cpu_seconds_total ');
  expect((await fetch(new URL('/', metrics.url))).status).toBe(404);
  expect((await fetch(metrics.url, { method: 'POST' })).status).toBe(405);
  const head = await fetch(metrics.url, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

it('answers over loopback to names of this host alone, so that no page in a browser reads them by its own name', async () => {
  const { metrics } = await open();
  const ask = async (host: string): Promise<number | undefined> => {
    const [answer] = (await once(get(metrics.url, { headers: { host } }), 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  for (const host of ['localhost', 'LOCALHOST:9100', '127.0.0.1:9100', '[::1]:9100'])
    expect(await ask(host), host).toBe(200);
  for (const host of [
    'page.attacker.example',
    'localhost.attacker.example:9100',
    '127.0.0.1.attacker.example',
  ])
    expect(await ask(host), host).toBe(421);
});

it('names the address that it cannot listen on', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  const failed = openMetrics({ host: '127.0.0.1', port }, { info: () => {}, warn: () => {} });
  await expect(failed).rejects.toThrow(UserError);
  await expect(failed).rejects.toThrow(`metrics cannot be served at 127.0.0.1:${port}: `);
});

it('are listed on the page of metrics, all of them and no others', async () => {
  const { metrics } = await open();
  addServiceMetrics(metrics);
  addHostMetrics(metrics, {
    runtime: { transport: {} as RemoteRuntime['transport'] },
    ...{ dataDir: '/', helperFaults: () => 0, epoch: () => undefined },
  });
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/metrics.md'), 'utf8');
  const listed = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((line) => line.match(/(?<=`)skerry_[a-z_]+/g) ?? []);
  const served = metrics.registry.getMetricsAsArray().map(({ name }) => name);
  expect(listed.toSorted()).toEqual(served.filter((name) => name.startsWith('skerry_')).toSorted());
});

it('holds a bound of connections, ends each with its answer, and logs that once', async () => {
  const { metrics, warnings, scrape } = await open();
  const { hostname, port } = new URL(metrics.url);
  const idle = Array.from({ length: 60 }, () =>
    connect(Number(port), hostname)
      .on('error', () => undefined)
      .resume(),
  );
  onTestFinished(() => {
    for (const socket of idle) socket.destroy();
  });
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  await expect.poll(() => idle.filter(({ destroyed }) => !destroyed).length).toBe(32);
  await scrape();
  expect((await fetch(metrics.url)).headers.get('connection')).toBe('close');
  expect(warnings).toEqual([
    [
      'one address has too many unidentified connections to the port for metrics',
      { address: '127.0.0.1', open: 32 },
    ],
  ]);
});
