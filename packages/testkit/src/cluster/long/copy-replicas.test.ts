import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres } from '@skerry/platform/postgres-server';
import { nodes, Sandbox, snapshots } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Cluster, Replica } from '../cluster.ts';
import { insist, type Replicas, startReplicas } from '../replicas.ts';
import { type Count, createOn, expectCounting, startCounter } from './counter.ts';

describe.skipIf(findPostgres() === undefined)('two servers with one blob store', () => {
  let replicas: Replicas;
  let cluster: Cluster;
  const base = mkdtempSync(join(tmpdir(), 'skerry-cluster-blobs-'));
  const blobs = join(base, 'blobs');

  beforeAll(async () => {
    replicas = await startReplicas({
      nodes: ['a', 'b'],
      serverArgs: ['--node-dead-after', '8s', '--blobs', blobs],
    });
    ({ cluster } = replicas);
  });
  beforeEach(() => replicas.areShared());
  afterAll(async () => {
    await replicas?.close();
    rmSync(base, { recursive: true, force: true });
  });
  afterEach(async () => {
    await replicas.areShared();
    await expect
      .poll(async () => {
        await cluster.killAll();
        return replicas.onNodes();
      })
      .toEqual([]);
    // Removed by one server, also what the other has stored.
    await expect.poll(() => stored()).toEqual([]);
  });

  /** Without unfinished files, which a killed server leaves and another one removes a day later. */
  const keys = (folder = blobs): string[] =>
    readdirSync(folder)
      .filter((name) => !name.startsWith('.new-'))
      .map((name) => name.replaceAll('+', '/'));
  /** The keys of the copies of sandboxes and snapshots. */
  const stored = (folder = blobs): string[] => keys(folder).filter((key) => key.startsWith('snapshots/'));
  const images = (): string[] => keys().filter((key) => key.startsWith('images/'));
  const copies = (): string[] => [...new Set(stored().map((key) => key.split('/')[1] ?? ''))];
  const other = (replica: Replica): Replica => cluster.replicas.find((one) => one !== replica) as Replica;
  const at = (replica: Replica, { sandboxId }: Sandbox): Promise<Sandbox> =>
    Sandbox.connect(sandboxId, replica.connection);
  const explain = ({ sandboxId }: Sandbox, replica: Replica = cluster.replicas[0] as Replica) =>
    nodes.explain(sandboxId, replica.connection);
  const isStored = async (sandbox: Sandbox): Promise<boolean | undefined> =>
    (await insist(() => explain(sandbox))).stored;
  const createCounter = async (node: string): Promise<[Sandbox, Count]> => {
    const sandbox = await createOn(cluster, node);
    return [sandbox, await startCounter(sandbox)];
  };
  const resumes = async ({ sandboxId }: Sandbox): Promise<number> => {
    const path = { sandboxID: sandboxId };
    const { data } = await cluster.api.GET('/v2/sandboxes/{sandboxID}/logs', { params: { path } });
    return data?.logs.filter(({ message }) => message === 'sandbox resumed').length ?? 0;
  };
  /** Memory that takes a while to store. */
  const fill = async (sandbox: Sandbox): Promise<void> => {
    const script =
      'import os, time; data = os.urandom(150 * 2 ** 20); open("/tmp/large", "w"); time.sleep(1000)';
    await sandbox.commands.run(`python3 -c '${script}'`, { background: true });
    await expect.poll(() => sandbox.files.exists('/tmp/large')).toBe(true);
  };

  it('resume what is stored of a dead node through either server, in one run, at the owner of the other node', async () => {
    const [sandbox, before] = await createCounter('b');
    await sandbox.pause();
    await expect.poll(() => isStored(sandbox)).toBe(true);
    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ a: 'ready', b: 'lost' });
    const asked = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) => at(cluster.replicas[index % 2] as Replica, sandbox)),
    );
    const joined = asked.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(joined.length).toBeGreaterThan(0);
    for (const one of joined) await expectCounting(one, before);
    expect(await resumes(sandbox)).toBe(1);
    for (const replica of cluster.replicas)
      expect(await explain(sandbox, replica)).toMatchObject({ node: 'a' });
    await cluster.startNode('b');
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
    // What it had of the sandbox is removed before it takes work.
    expect(readdirSync(join(cluster.nodeFolder('b'), 'sandboxes'))).toEqual([]);
    await expectCounting(await at(cluster.replicas[1] as Replica, sandbox), before);
  });

  it('move a counter twenty times between the nodes of both', async () => {
    const sandbox = await createOn(cluster, 'a');
    let count = await startCounter(sandbox);
    for (let move = 1; move <= 20; move += 1) {
      const from = (await explain(sandbox)).node ?? 'none';
      expect(await cluster.skerry('node', 'drain', from)).toContain(`nothing is on ${from}`);
      await cluster.skerry('node', 'uncordon', from);
      expect((await explain(sandbox)).node).toBe(from === 'a' ? 'b' : 'a');
      count = await expectCounting(await at(cluster.replicas[move % 2] as Replica, sandbox), count);
    }
    expect(await resumes(sandbox)).toBe(20);
  });

  it('store again what a killed server was in the middle of, at the next owner, and leave nothing of it', async () => {
    const killed = replicas.ownerOf('b');
    const left = other(killed);
    const [sandbox, before] = await createCounter('b');
    await fill(sandbox);
    await sandbox.pause();
    await expect.poll(() => stored().length, { interval: 5 }).toBeGreaterThan(0);
    const [begun] = copies();
    await killed.service().stop('SIGKILL');
    expect(stored().filter((key) => key.endsWith('/manifest.json'))).toEqual([]);
    await expect.poll(() => replicas.ownerOf('b') === left).toBe(true);
    await expect.poll(async () => (await insist(() => explain(sandbox, left))).stored).toBe(true);
    await expect.poll(() => copies()).toHaveLength(1);
    expect(copies()).not.toContain(begun);
    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => replicas.statesAt(left)).toEqual(['ready', 'unreachable']);
    const moved = await insist(() => at(left, sandbox));
    await expectCounting(moved, before);
    await Promise.all([cluster.startNode('b'), killed.start()]);
  });

  it('take no manifest of an owner that wakes up after its lease, and keep what the next one has stored', async () => {
    const asleep = replicas.ownerOf('b');
    const left = other(asleep);
    const [sandbox, before] = await createCounter('b');
    await fill(sandbox);
    await sandbox.pause();
    await expect.poll(() => stored().length, { interval: 5 }).toBeGreaterThan(0);
    const [begun] = copies();
    asleep.service().signal('SIGSTOP');
    await expect.poll(() => replicas.ownerOf('b') === left).toBe(true);
    await expect.poll(async () => (await insist(() => explain(sandbox, left))).stored).toBe(true);
    await expect.poll(() => copies().filter((id) => id !== begun)).toHaveLength(1);
    const kept = copies().find((id) => id !== begun);
    asleep.service().signal('SIGCONT');
    await expect.poll(() => asleep.service().log()).toContain('another server has taken over a node');
    await replicas.areShared();
    await expect.poll(() => copies()).toEqual([kept]);
    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'lost' });
    await expectCounting(await insist(() => at(asleep, sandbox)), before);
    await cluster.startNode('b');
  });

  it('pause without the blob store, say so at each, and store and drain when it is back', async () => {
    const [sandbox, before] = await createCounter('b');
    renameSync(blobs, `${blobs}-away`);
    await sandbox.pause();
    await expect.poll(async () => (await explain(sandbox)).problem).toBeTruthy();
    for (const replica of cluster.replicas)
      expect(await explain(sandbox, replica)).toMatchObject({ node: 'b', stored: false });
    renameSync(`${blobs}-away`, blobs);
    expect(await cluster.skerry('node', 'drain', 'b')).toContain('nothing is on b');
    expect(await explain(sandbox)).toMatchObject({ node: undefined, stored: true });
    const both = await Promise.allSettled(cluster.replicas.map((replica) => at(replica, sandbox)));
    expect(both.some(({ status }) => status === 'fulfilled')).toBe(true);
    await expectCounting(await at(cluster.replicas[1] as Replica, sandbox), before);
    expect(await resumes(sandbox)).toBe(1);
    await cluster.skerry('node', 'uncordon', 'b');
  });

  it('begin with templates and snapshots of a dead node, which the blob store has, at the other server', async () => {
    const template = Template().fromTemplate('base').run('echo built > /home/user/file');
    await insist(() => build(template, 'built', cluster.connection).result());
    await expect.poll(() => images()).toHaveLength(1);
    const found = ['a', 'b'].filter(
      (node) => readdirSync(join(cluster.nodeFolder(node), 'templates')).length,
    );
    expect(found).toHaveLength(1);
    const [home = ''] = found;
    const away = home === 'a' ? 'b' : 'a';
    const source = await createOn(cluster, home);
    await source.files.write('/home/user/note', 'kept');
    const { snapshotId } = await source.createSnapshot();
    await source.kill();
    // The manifest of the snapshot is not enough: a server may not have heard yet that the node is done.
    await expect.poll(() => replicas.logged('a snapshot is in the blob store')).toHaveLength(1);
    await cluster.node(home).stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ [home]: 'lost' });
    for (const [from, path, content] of [
      ['built', '/home/user/file', 'built\n'],
      [snapshotId, '/home/user/note', 'kept'],
    ] as const) {
      const made = await Promise.all(
        cluster.replicas.map(({ connection }) =>
          Sandbox.create({ ...connection, template: from, timeoutMs: 600_000 }),
        ),
      );
      for (const sandbox of made) {
        expect(await sandbox.files.read(path)).toBe(content);
        expect((await explain(sandbox)).node).toBe(away);
        await sandbox.kill();
      }
    }
    const copied = replicas.logged('an image was copied to a node');
    expect(copied).toHaveLength(1);
    expect(copied[0]).toContain('the blob store');
    await cluster.startNode(home);
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
    await insist(() => snapshots.delete(snapshotId, cluster.connection));
    await insist(() => cluster.skerry('template', 'delete', 'built'));
    await expect.poll(() => keys()).toEqual(['installation']);
  });
});
