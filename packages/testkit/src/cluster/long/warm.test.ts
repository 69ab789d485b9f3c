import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: ['a', 'b'], serverArgs: ['--warm-min', '1'] });
});
afterAll(() => cluster?.close());

const waitingOn = async (node: string): Promise<number> =>
  ((await cluster.metrics(node)).get('skerry_host_sandboxes{state="running"}') ?? 0) -
  ((await cluster.metrics('platform')).get(
    `skerry_sandboxes{state="running",isolation="container",node="${node}"}`,
  ) ?? 0);
const untilWaiting = (): Promise<void> =>
  expect.poll(() => Promise.all(['a', 'b'].map(waitingOn))).toEqual([1, 1]);
const hits = async (): Promise<number> =>
  (await cluster.metrics('platform')).get('skerry_warm_claims_total{result="hit"}') ?? 0;
const create = (): Promise<Sandbox> => Sandbox.create({ ...cluster.connection, timeoutMs: 600_000 });

describe('sandboxes that are started in advance on nodes', () => {
  it('are on each node, serve creates, and are found again after the server was killed', async () => {
    await untilWaiting();
    const first = await Promise.all([create(), create()]);
    const homes = await Promise.all(first.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    expect(homes.toSorted()).toEqual(['a', 'b']);
    expect(await hits()).toBe(2);
    expect((await first[0].commands.run('echo $E2B_SANDBOX_ID')).stdout).toBe(`${first[0].sandboxId}\n`);
    expect(await cluster.skerry('sandbox', 'explain', first[0].sandboxId)).toContain(
      'one like it was started there in advance: ',
    );
    await untilWaiting();
    await cluster.server().stop('SIGKILL');
    await cluster.startServer();
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
    const again = await create();
    expect(await hits()).toBe(1);
    expect((await again.commands.run('echo on')).stdout).toBe('on\n');
    await cluster.skerry('node', 'cordon', 'a', 'b');
    await expect.poll(() => Promise.all(['a', 'b'].map(waitingOn))).toEqual([0, 0]);
  });
});
