import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NotFoundError, nodes, Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: ['a', 'b'], serverArgs: ['--node-dead-after', '8s'] });
});
afterAll(() => cluster?.close());
afterEach(() => cluster.killAll());

const create = (template?: string): Promise<Sandbox> =>
  Sandbox.create({ ...cluster.connection, timeoutMs: 600_000, ...(template && { template }) });

/** What rejects a call: the error and what it says. */
const failureOf = async (call: Promise<unknown>): Promise<SandboxError> => {
  const error = await call.then(
    () => new Error('it succeeded'),
    (failure: unknown) => failure,
  );
  if (error instanceof SandboxError) return error;
  throw error;
};

describe('a server with two nodes', () => {
  it('spreads sandboxes, and reaches files, processes, terminals and ports in each through its node', async () => {
    const made = await Promise.all([create(), create(), create(), create()]);
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    expect(homes.toSorted()).toEqual(['a', 'a', 'b', 'b']);
    const content = new Uint8Array(5 * 2 ** 20).fill(7);
    await Promise.all(
      made.map(async (sandbox) => {
        await sandbox.files.write('/home/user/data', content);
        const read = await sandbox.files.read('/home/user/data', { format: 'bytes' });
        expect(Buffer.from(content).equals(read)).toBe(true);
        let seen = '';
        const terminal = await sandbox.pty.create({
          cols: 80,
          rows: 24,
          onData: (data) => {
            seen += Buffer.from(data).toString();
          },
        });
        await terminal.sendInput('echo $((6 * 7))\n');
        await expect.poll(() => seen).toMatch(/^42/m);
        await terminal.kill();
        await sandbox.commands.run('python3 -m http.server 8000 --directory /home/user', {
          background: true,
        });
        const headers = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '8000' };
        const url = `${cluster.address.sandboxUrl}/data`;
        await expect.poll(async () => (await fetch(url, { headers })).status).toBe(200);
        const served = await (await fetch(url, { headers })).bytes();
        expect(Buffer.from(content).equals(served)).toBe(true);
      }),
    );
    await Promise.all(made.map((sandbox) => sandbox.kill()));
    const { data = [] } = await cluster.api.GET('/skerry/v1/nodes');
    expect(data.map(({ load }) => load.sandboxes + load.paused)).toEqual([0, 0]);
  });

  it('pauses, forks and captures a sandbox where it is, and begins with a snapshot where that is', async () => {
    const source = await create();
    const home = await cluster.nodeOf(source.sandboxId);
    await source.commands.run('python3 -c "import time; time.sleep(600)"', { background: true });
    const sleepers = async (sandbox: Sandbox): Promise<number> =>
      (await sandbox.commands.list()).filter(({ args }) => args.join(' ').includes('sleep(600)')).length;
    await source.pause();
    const resumed = await Sandbox.connect(source.sandboxId, cluster.connection);
    expect(await sleepers(resumed)).toBe(1);
    const { snapshotId } = await resumed.createSnapshot({ name: 'prepared' });
    const [copy] = await resumed.fork();
    const again = await Promise.all([create(snapshotId), create(snapshotId)]);
    const all = [copy as Sandbox, ...again];
    expect(await Promise.all(all.map(sleepers))).toEqual([1, 1, 1]);
    expect(await Promise.all(all.map(({ sandboxId }) => cluster.nodeOf(sandboxId)))).toEqual([
      home,
      home,
      home,
    ]);
    const differences = await snapshots.diff(source.sandboxId, {
      ...cluster.connection,
      from: snapshotId,
    });
    expect(differences).toEqual([]);

    await cluster.skerry('node', 'cordon', home);
    const refused = await failureOf(create(snapshotId));
    expect(refused.message).toContain(`on node "${home}" only: ${home} is cordoned`);
    await Promise.all([...all, resumed].map((sandbox) => sandbox.kill()));
    await snapshots.delete(snapshotId, cluster.connection);
    await cluster.skerry('node', 'uncordon', home);
  });

  it('places nothing on a cordoned node, and says what is on one that is drained', async () => {
    const [first, second] = await Promise.all([create(), create()]);
    const home = await cluster.nodeOf(first.sandboxId);
    const because = await cluster.skerry('sandbox', 'explain', second.sandboxId);
    expect(because).toMatch(
      /^where {4}[ab], which is ready\nlevel {4}container\nwhy {6}its memory is taken least: /,
    );
    const drained = await cluster
      .skerry('node', 'drain', home, '--json')
      .catch(({ stdout }) => String(stdout));
    expect(JSON.parse(drained)).toEqual({
      node: home,
      remaining: [{ sandboxId: first.sandboxId, state: 'running' }],
      snapshots: 0,
    });
    const later = await Promise.all([create(), create()]);
    const other = home === 'a' ? 'b' : 'a';
    expect(await Promise.all(later.map(({ sandboxId }) => cluster.nodeOf(sandboxId)))).toEqual([
      other,
      other,
    ]);
    const explained = await nodes.explain(later[1].sandboxId, cluster.connection);
    expect(explained).toMatchObject({ node: other, nodeState: 'ready' });
    expect(explained.reason).toContain(`, ${home} is cordoned`);
    expect(explained.history.map(({ message }) => message)).toEqual([
      'sandbox placed on a node',
      'sandbox started',
    ]);
    await first.kill();
    expect(await cluster.skerry('node', 'drain', home)).toContain('it can be stopped');
    await cluster.skerry('node', 'cordon', other);
    const { message } = await failureOf(create());
    expect(message).toContain('no node can take the sandbox now: a is cordoned, b is cordoned');
    await cluster.skerry('node', 'uncordon', 'a', 'b');
    await expect(cluster.skerry('node', 'forget', 'a')).rejects.toThrow('answers: stop it');
    await expect(cluster.skerry('node', 'cordon', 'none')).rejects.toThrow('"none" was not found');
    await Promise.all([second, ...later].map((sandbox) => sandbox.kill()));
  });

  it('serves its metrics, and a node its own, at addresses apart, without ids and secrets', async () => {
    const made = await Promise.all([create(), create()]);
    const stream = await made[0].commands.run('sleep 600', { background: true });
    const [server, ...ofNodes] = await Promise.all(['platform', 'a', 'b'].map(cluster.metrics));
    for (const [index, node] of ['a', 'b'].entries()) {
      const own = ofNodes[index];
      expect(server?.get(`skerry_sandboxes{state="running",isolation="container",node="${node}"}`)).toBe(1);
      expect(server?.get(`skerry_node_state{node="${node}",state="ready"}`)).toBe(1);
      expect(server?.get(`skerry_node_reserved_memory_bytes{node="${node}"}`)).toBe(2 ** 30);
      expect(own?.get('skerry_host_sandboxes{state="running"}')).toBe(1);
      expect(own?.get('skerry_host_reserved_memory_bytes')).toBe(2 ** 30);
      expect(own?.get('skerry_host_epoch')).toBe(server?.get(`skerry_node_epoch{node="${node}"}`));
      expect(own?.get('skerry_host_disk_free_bytes')).toBeGreaterThan(0);
      expect(own?.get('skerry_host_starts_waiting')).toBe(0);
      expect(own?.get('skerry_helper_faults_total')).toBe(0);
    }
    expect(server?.get('skerry_operation_duration_seconds_count{operation="create"}')).toBeGreaterThan(1);
    expect(server?.get('skerry_edge_open_streams')).toBeGreaterThan(0);
    const names = [server, ...ofNodes].flatMap((metrics) => [...(metrics?.keys() ?? [])]).join('\n');
    for (const secret of [cluster.address.apiKey, ...made.map(({ sandboxId }) => sandboxId)])
      expect(names).not.toContain(secret);
    // Callers of the API do not get them.
    const headers = { 'x-api-key': cluster.address.apiKey };
    expect((await fetch(`${cluster.address.apiUrl}/metrics`, { headers })).status).toBe(404);
    await stream.kill();
    const pauses = 'skerry_operation_duration_seconds_count{operation="pause"}';
    const before = server?.get(pauses) ?? 0;
    await made[0].pause();
    expect((await cluster.metrics('platform')).get(pauses)).toBe(before + 1);
    await Promise.all(made.map((sandbox) => sandbox.kill()));
  });
});

describe('with a blob store', () => {
  const base = mkdtempSync(join(tmpdir(), 'skerry-cluster-blobs-'));
  const blobs = join(base, 'blobs');

  beforeAll(async () => {
    await cluster.server().stop();
    await cluster.startServer('--blobs', blobs);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it('answers for one node while the other is cut off, resumes there what is stored, and ends what was lost when that is back', async () => {
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
    const made = await Promise.all(Array.from({ length: 6 }, () => create()));
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    const at = (node: string): [Sandbox, Sandbox, Sandbox] =>
      made.filter((_, index) => homes[index] === node) as [Sandbox, Sandbox, Sandbox];
    const [near, ...others] = at('a');
    const [lost, paused, stored] = at('b');
    const explain = ({ sandboxId }: Sandbox) => nodes.explain(sandboxId, cluster.connection);
    const { pid } = await stored.commands.run('sleep 1000', { background: true });
    const sleepers = async (sandbox: Sandbox): Promise<number[]> =>
      (await sandbox.commands.list())
        .filter(({ args }) => args.join(' ').includes('sleep 1000'))
        .map((one) => one.pid);
    await stored.pause();
    await expect.poll(async () => (await explain(stored)).stored).toBe(true);
    renameSync(blobs, `${blobs}-away`);
    await paused.files.write('/home/user/note', 'kept');
    await paused.pause();
    await expect.poll(async () => (await explain(paused)).problem).toContain('snapshots/');
    expect(await explain(paused)).toMatchObject({ node: 'b', stored: false });
    expect(cluster.server().log()).toContain('a paused sandbox is not in the blob store');
    await lost.files.write('/home/user/note', 'lost');

    await cluster.lab.cut('b');
    renameSync(`${blobs}-away`, blobs);
    let answers = 0;
    let isOver = false;
    const watch = (async () => {
      while (!isOver) {
        expect((await near.commands.run('echo here')).stdout).toBe('here\n');
        answers += 1;
      }
    })();
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'unreachable' });
    expect((await failureOf(Sandbox.connect(paused.sandboxId, cluster.connection))).message).toContain(
      'node "b" cannot be reached',
    );
    const moved = await Sandbox.connect(stored.sandboxId, cluster.connection);
    expect((await explain(moved)).node).toBe('a');
    expect(await sleepers(moved)).toEqual([pid]);
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'lost' });
    expect(await failureOf(lost.commands.run('true'))).toBeInstanceOf(SandboxError);
    expect(await failureOf(Sandbox.connect(lost.sandboxId, cluster.connection))).toBeInstanceOf(
      NotFoundError,
    );
    const explained = await nodes.explain(lost.sandboxId, cluster.connection);
    expect(explained).toMatchObject({ node: 'b', nodeState: 'lost' });
    expect(explained.history.at(-1)).toMatchObject({ level: 'error', fields: { cause: 'lost', node: 'b' } });
    expect((await failureOf(Sandbox.connect(paused.sandboxId, cluster.connection))).message).toContain(
      'node "b" cannot be reached',
    );
    isOver = true;
    await watch;
    expect(answers).toBeGreaterThan(3);

    await cluster.lab.mend('b');
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
    expect(readdirSync(join(cluster.nodeFolder('b'), 'sandboxes'))).toEqual([paused.sandboxId]);
    await expect.poll(async () => (await explain(paused)).stored).toBe(true);
    const { data: all = [] } = await cluster.api.GET('/skerry/v1/nodes');
    expect(all.find(({ name }) => name === 'b')?.load).toMatchObject({ sandboxes: 0, paused: 1 });
    const back = await Sandbox.connect(paused.sandboxId, cluster.connection);
    expect(await back.files.read('/home/user/note')).toBe('kept');
    await Promise.all([near, ...others, back].map((sandbox) => sandbox.kill()));

    expect(await cluster.skerry('node', 'drain', 'a')).toContain('nothing is on a: it can be stopped');
    await cluster.skerry('node', 'uncordon', 'a');
    expect((await explain(moved)).node).toBe('b');
    expect(await sleepers(moved)).toEqual([pid]);
    await moved.kill();
    // The file that says to which installation the store belongs.
    await expect.poll(() => readdirSync(blobs)).toEqual(['installation']);
    for (const node of ['a', 'b'])
      for (const kind of ['sandboxes', 'snapshots'])
        expect(readdirSync(join(cluster.nodeFolder(node), kind))).toEqual([]);
  });
});
