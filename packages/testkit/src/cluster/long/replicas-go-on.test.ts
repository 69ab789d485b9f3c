import { setTimeout as sleep } from 'node:timers/promises';
import { findPostgres } from '@skerry/platform/postgres-server';
import { Sandbox } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLoad } from '../../stack/create-load.ts';
import { type Balancer, startBalancer } from '../balancer.ts';
import type { Cluster, Replica } from '../cluster.ts';
import { type Replicas, startReplicas } from '../replicas.ts';

/** More than a lease. */
const LONG_MS = 9_000;

describe.skipIf(findPostgres() === undefined)('two servers of a cluster with --database-file', () => {
  let replicas: Replicas;
  let cluster: Cluster;
  let balancer: Balancer;
  beforeAll(async () => {
    replicas = await startReplicas({ nodes: ['a', 'b'] });
    ({ cluster } = replicas);
    balancer = await startBalancer();
  });
  afterAll(async () => {
    await balancer?.close();
    await replicas?.close();
  });
  afterEach(() => cluster.killAll());

  /** The lines of a command that counts, which come through these servers. */
  const count = async (sandbox: Sandbox) => {
    const lines: string[] = [];
    const stream = await sandbox.commands.run('i=0; while true; do i=$((i+1)); echo $i; sleep 0.1; done', {
      background: true,
      onStdout: (text) => void lines.push(...text.trim().split('\n')),
    });
    const goesOn = async (): Promise<void> => {
      const before = lines.length;
      await expect.poll(() => lines.length).toBeGreaterThan(before + 3);
      expect(lines).toEqual(lines.map((_, index) => String(index + 1)));
    };
    await goesOn();
    return { goesOn, stop: () => stream.kill() };
  };

  it('answer 503 while PostgreSQL is killed, keep streams and lose nothing that was acknowledged', async () => {
    const { postgres } = replicas;
    const [one, two] = cluster.replicas as [Replica, Replica];
    await replicas.areShared();
    const made = await Promise.all([Sandbox.create(one.connection), Sandbox.create(two.connection)]);
    const counters = await Promise.all(
      made.flatMap(({ sandboxId }) =>
        [one, two].map(async ({ connection }) => count(await Sandbox.connect(sandboxId, connection))),
      ),
    );
    await using load = createLoad([one.api, two.api]);
    const { created, killed, refusals, counts } = load;
    const isAnswered = () => expect.poll(() => counts.acknowledged).toBeGreaterThan(counts.acknowledged + 4);
    for (const downMs of [0, LONG_MS]) {
      await isAnswered();
      const brief = await Sandbox.create({ ...one.connection, timeoutMs: 1_000 });
      await postgres.stop();
      const before = refusals.length;
      const toMessages = () => refusals.slice(before).map(({ message }) => message);
      await expect
        .poll(toMessages)
        .toContainEqual(expect.stringContaining('the connection to the database was lost'));
      for (const { goesOn } of counters) await goesOn();
      await sleep(downMs);
      for (const { goesOn } of counters) await goesOn();
      await postgres.start();
      await isAnswered();
      await expect.poll(() => Sandbox.kill(brief.sandboxId, two.connection)).toBe(false);
    }
    await load.end();
    expect(refusals).toEqual(refusals.map(({ message }) => ({ status: 503, retryAfter: '1', message })));
    await replicas.areShared();
    for (const { goesOn, stop } of counters) {
      await goesOn();
      await stop();
    }
    const list = async (): Promise<string[]> => {
      const { data = [] } = await two.api.GET('/v2/sandboxes', {});
      return data.map(({ sandboxID }) => sandboxID);
    };
    const found = await list();
    expect(found).toEqual(expect.arrayContaining([...made.map(({ sandboxId }) => sandboxId), ...created]));
    expect(found.filter((id) => killed.has(id))).toEqual([]);
    // What was refused in the middle of a create is not left on a node.
    await expect.poll(async () => (await list()).toSorted()).toEqual(replicas.onNodes().toSorted());
  });

  it('are stopped and started one after the other, while streams continue at their offset through the rest', async () => {
    await replicas.areShared();
    const { apiUrl: _api, sandboxUrl: _sandbox, ...rest } = cluster.address;
    const connection = { ...rest, apiUrl: balancer.url, sandboxUrl: balancer.url };
    balancer.serve(cluster.replicas.map(({ address }) => address.apiUrl));
    const made = await Promise.all([1, 2, 3, 4].map(() => Sandbox.create(connection)));
    const counters = await Promise.all(made.map(count));
    for (const replica of cluster.replicas) {
      const left = cluster.replicas.filter((one) => one !== replica);
      balancer.serve(left.map(({ address }) => address.apiUrl));
      await replica.service().stop();
      const since = performance.now();
      for (const { goesOn } of counters) await goesOn();
      // The leases were given up, so that nothing waits for their end.
      await expect.poll(() => replicas.statesAt(left[0] as Replica)).toEqual(['ready', 'ready']);
      expect(performance.now() - since).toBeLessThan(15_000);
      await replica.start();
      balancer.serve(cluster.replicas.map(({ address }) => address.apiUrl));
      await replicas.areShared();
    }
    for (const { goesOn, stop } of counters) {
      await goesOn();
      await stop();
    }
  });
});
