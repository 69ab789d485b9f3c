import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodes, Sandbox, snapshots } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster.ts';
import { type Count, createOn, expectCounting, startCounter } from './counter.ts';

let cluster: Cluster;
const base = mkdtempSync(join(tmpdir(), 'skerry-cluster-blobs-'));
const blobs = join(base, 'blobs');

beforeAll(async () => {
  cluster = await startCluster({
    nodes: ['a', 'b'],
    serverArgs: ['--node-dead-after', '8s', '--blobs', blobs],
  });
});
afterAll(async () => {
  await cluster?.close();
  rmSync(base, { recursive: true, force: true });
});
afterEach(() => cluster.killAll());

const createCounter = async (node: string): Promise<[Sandbox, Count]> => {
  const sandbox = await createOn(cluster, node);
  return [sandbox, await startCounter(sandbox)];
};
const explain = ({ sandboxId }: Sandbox) => nodes.explain(sandboxId, cluster.connection);
const homeOf = async (sandbox: Sandbox) => (await explain(sandbox)).node;
const connect = ({ sandboxId }: Sandbox): Promise<Sandbox> => Sandbox.connect(sandboxId, cluster.connection);
const onDisk = (node: string): string[] => readdirSync(join(cluster.nodeFolder(node), 'sandboxes'));

describe('a server with two nodes and a blob store', () => {
  it('resumes a paused sandbox on the other node when its own is gone, and stops it there when that is back', async () => {
    const [source, before] = await createCounter('b');
    await source.pause();
    await expect.poll(async () => (await explain(source)).stored).toBe(true);
    expect(readdirSync(blobs).length).toBeGreaterThan(0);
    await cluster.lab.cut('b');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'unreachable' });
    const moved = await connect(source);
    const after = await expectCounting(moved, before);
    expect(await homeOf(moved)).toBe('a');
    expect(onDisk('b')).toEqual([source.sandboxId]);
    await cluster.lab.mend('b');
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
    expect(onDisk('b')).toEqual([]);
    await expectCounting(moved, after);
    await expect.poll(() => readdirSync(blobs)).toEqual(['installation']);
    for (const node of ['a', 'b'])
      expect(readdirSync(join(cluster.nodeFolder(node), 'snapshots'))).toEqual([]);
  });

  it('pauses without the blob store, says so, names the node that is gone, and drains when the store is back', async () => {
    const [paused, before] = await createCounter('b');
    const [running] = await createCounter('b');
    renameSync(blobs, `${blobs}-away`);
    await paused.pause();
    await expect.poll(async () => (await explain(paused)).problem).toContain('snapshots/');
    expect(await explain(paused)).toMatchObject({ node: 'b', stored: false });
    expect(cluster.server().log()).toContain('a paused sandbox is not in the blob store');
    expect(await cluster.skerry('sandbox', 'explain', paused.sandboxId)).toContain('\nstored   no: ');

    await cluster.lab.cut('b');
    await expect.poll(() => cluster.states()).toMatchObject({ b: 'lost' });
    await expect(connect(paused)).rejects.toThrow('node "b" cannot be reached');
    expect(await explain(paused)).toMatchObject({ node: 'b' });
    await expect(connect(running)).rejects.toMatchObject({ code: 'not_found' });
    await cluster.lab.mend('b');
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });

    const [another, count] = await createCounter('b');
    renameSync(`${blobs}-away`, blobs);
    const drained = await cluster.skerry('node', 'drain', 'b');
    expect(drained).toContain('nothing is on b: it can be stopped');
    expect(onDisk('b')).toEqual([]);
    expect(await homeOf(another)).toBe('a');
    await expectCounting(await connect(another), count);
    expect(await explain(paused)).toMatchObject({ node: undefined, stored: true });
    await expectCounting(await connect(paused), before);
    expect(await homeOf(paused)).toBe('a');
    await cluster.skerry('node', 'uncordon', 'b');
  });

  it('leaves snapshots in the blob store with a drain, and templates of a node that is forgotten', async () => {
    const { connection } = cluster;
    // The checkpoint of its start command goes on in each sandbox.
    const started = 'echo $$ > /tmp/started; sleep 1000';
    const template = Template()
      .fromTemplate('base')
      .run('echo built > /home/user/file')
      .user('worker')
      .workdir('/srv/app')
      .start(started, { ready: 'test -s /tmp/started' });
    await build(template, 'built', connection).result();
    const source = await createOn(cluster, 'a');
    await source.files.write('/home/user/note', 'kept');
    const { snapshotId } = await source.createSnapshot();
    await source.kill();
    const keys = () => readdirSync(blobs).map((name) => name.replaceAll('+', '/'));
    await expect.poll(() => keys().filter((key) => key.startsWith('images/'))).toHaveLength(1);
    await expect.poll(() => keys().filter((key) => key.endsWith('/manifest.json'))).toHaveLength(2);
    await cluster.skerry('template', 'cache', 'prune');
    expect(await cluster.skerry('node', 'drain', 'a')).toContain('nothing is on a: it can be stopped');
    await expect.poll(() => readdirSync(join(cluster.nodeFolder('a'), 'snapshots'))).toEqual([]);
    await cluster.node('a').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ a: 'lost' });
    await cluster.skerry('node', 'forget', 'a');
    const create = (from: string) => Sandbox.create({ ...connection, template: from, timeoutMs: 600_000 });
    const before = await (await create('built')).files.read('/tmp/started');
    const made = await create('built');
    expect(await made.files.read('/home/user/file')).toBe('built\n');
    expect(await made.files.read('/tmp/started')).toBe(before);
    expect((await made.commands.run('id -un; pwd')).stdout).toBe('worker\n/srv/app\n');
    expect((await nodes.explain(made.sandboxId, connection)).reason).toContain('checkpoint');
    expect(await (await create(snapshotId)).files.read('/home/user/note')).toBe('kept');
    await cluster.killAll();
    await snapshots.delete(snapshotId, connection);
    await cluster.skerry('template', 'delete', 'built');
    await expect.poll(() => keys()).toEqual(['installation']);
  });
});
