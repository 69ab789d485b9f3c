import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { findPostgres } from '@skerry/platform/postgres-server';
import { nodes, Sandbox, snapshots } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Cluster, Replica } from '../cluster.ts';
import { insist, type Replicas, startReplicas } from '../replicas.ts';

describe.skipIf(findPostgres() === undefined)('a cluster with --database-file and two servers', () => {
  let replicas: Replicas;
  let cluster: Cluster;

  beforeAll(async () => {
    replicas = await startReplicas({
      nodes: ['a', 'b'],
      serverArgs: ['--max-sandboxes', '10', '--node-dead-after', '30s'],
    });
    ({ cluster } = replicas);
  });
  afterAll(() => replicas?.close());
  beforeEach(async () => {
    await replicas.areShared();
    await cluster.killAll();
    await expect.poll(() => replicas.onNodes()).toEqual([]);
  });

  const ownerOf = (node: string): Replica => replicas.ownerOf(node);
  const other = (replica: Replica): Replica => cluster.replicas.find((one) => one !== replica) as Replica;
  const create = (replica: Replica, template = 'base'): Promise<Sandbox> =>
    Sandbox.create({ ...replica.connection, template, timeoutMs: 600_000 });
  const at = (replica: Replica, { sandboxId }: Sandbox): Promise<Sandbox> =>
    Sandbox.connect(sandboxId, replica.connection);
  const echo = async (sandbox: Sandbox, word: string): Promise<string> =>
    (await sandbox.commands.run(`echo ${word}`)).stdout.trim();

  /** Opens an upgraded connection to a port inside through that server. */
  const upgrade = ({ address }: Replica, { sandboxId }: Sandbox, port: number): Promise<Duplex> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...{ connection: 'upgrade', upgrade: 'echo' },
        ...{ 'e2b-sandbox-id': sandboxId, 'e2b-sandbox-port': String(port) },
      };
      request(address.sandboxUrl, { headers })
        .on('upgrade', (_response, socket) => resolve(socket))
        .on('response', ({ statusCode }) => reject(new Error(`it answered ${statusCode}`)))
        .on('error', reject)
        .end();
    });
  const echoServer = `
import socket, threading
def serve(c):
    head = b''
    while b'\\r\\n\\r\\n' not in head: head += c.recv(4096)
    c.sendall(b'HTTP/1.1 101 x\\r\\nconnection: upgrade\\r\\nupgrade: echo\\r\\n\\r\\n')
    while data := c.recv(4096): c.sendall(data)
s = socket.create_server(('', 8000))
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`;

  it('reaches files, processes, terminals and ports of each sandbox through each server', async () => {
    const [one, two] = cluster.replicas as [Replica, Replica];
    const made = [await create(one), await create(two), await create(one), await create(two)] as const;
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    expect(homes.toSorted()).toEqual(['a', 'a', 'b', 'b']);
    const content = new Uint8Array(3 * 2 ** 20).fill(7);
    for (const sandbox of made) {
      await sandbox.files.write('/tmp/server.py', echoServer);
      await sandbox.commands.run('python3 /tmp/server.py', { background: true });
      for (const replica of cluster.replicas) {
        const near = await at(replica, sandbox);
        await near.files.write('/home/user/data', content);
        expect(
          Buffer.from(content).equals(await near.files.read('/home/user/data', { format: 'bytes' })),
        ).toBe(true);
        let seen = '';
        const onData = (data: Uint8Array): void => {
          seen += Buffer.from(data).toString();
        };
        const terminal = await near.pty.create({ cols: 80, rows: 24, onData });
        await terminal.sendInput('echo $((6 * 7))\n');
        await expect.poll(() => seen).toMatch(/^42/m);
        await terminal.kill();
        const socket = await insist(() => upgrade(replica, sandbox, 8000));
        socket.write('there and back');
        expect(String(await new Promise((resolve) => socket.once('data', resolve)))).toBe('there and back');
        socket.destroy();
      }
    }
    // The connection through the server that does not own it ends with the sandbox, and what comes later gets 502.
    const [sandbox] = made;
    const far = other(ownerOf(homes[0] as string));
    const open = await upgrade(far, sandbox, 8000);
    const closed = new Promise((resolve) => open.on('error', resolve).once('close', resolve));
    await sandbox.kill();
    await closed;
    const headers = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '8000' };
    expect((await fetch(far.address.sandboxUrl, { headers })).status).toBe(502);
  });

  it('makes each call at the server that owns the node', async () => {
    const [one, two] = cluster.replicas as [Replica, Replica];
    const made = await Promise.all([create(one), create(one)]);
    for (const sandbox of made) {
      const [first, second] = [await at(one, sandbox), await at(two, sandbox)];
      await first.files.write('/home/user/note', 'kept');
      await first.pause();
      expect(await (await at(two, sandbox)).files.read('/home/user/note')).toBe('kept');
      await second.pause({ memory: false });
      expect(await (await at(one, sandbox)).files.read('/home/user/note')).toBe('kept');
      const [copy] = await second.fork();
      expect(await (copy as Sandbox).files.read('/home/user/note')).toBe('kept');
      const { snapshotId } = await first.createSnapshot();
      const again = await Promise.all([create(one, snapshotId), create(two, snapshotId)]);
      for (const begun of again) expect(await begun.files.read('/home/user/note')).toBe('kept');
      await Promise.all([first, copy as Sandbox, ...again].map((each) => each.kill()));
      expect(
        (await two.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID: sandbox.sandboxId } } }))
          .response.status,
      ).toBe(404);
      await snapshots.delete(snapshotId, two.connection);
    }
    const template = Template()
      .fromTemplate('base')
      .env({ WORD: 'built' })
      .user('worker')
      .workdir('/srv/app');
    await build(template, 'below', one.connection).result();
    await build(Template().fromTemplate('below').run('echo $WORD > file'), 'built', two.connection).result();
    const begun = [await create(one, 'built'), await create(two, 'built')];
    for (const [index, sandbox] of begun.entries()) {
      expect(await sandbox.files.read('/srv/app/file')).toBe('built\n');
      const elsewhere = await at([two, one][index] as Replica, sandbox);
      for (const each of [sandbox, elsewhere])
        expect((await each.commands.run('id -un; pwd; echo $WORD-')).stdout).toBe('worker\n/srv/app\n-\n');
      await elsewhere.pause({ memory: false });
      const { stdout } = await (await at(two, sandbox)).commands.run('id -un; pwd');
      expect(stdout).toBe('worker\n/srv/app\n');
    }
    expect(new Set(await Promise.all(begun.map(({ sandboxId }) => cluster.nodeOf(sandboxId)))).size).toBe(2);
  });

  it('has no more sandboxes than its limit, and one run of each, when both servers are asked at once', async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => create(cluster.replicas[index % 2] as Replica)),
    );
    const made = asked.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(made).toHaveLength(10);
    const [sandbox] = made as [Sandbox];
    await sandbox.pause();
    const both = await Promise.all(cluster.replicas.map((replica) => at(replica, sandbox)));
    expect(await Promise.all(both.map((each, index) => echo(each, `run${index}`)))).toEqual(['run0', 'run1']);
    const { data } = await cluster.api.GET('/v2/sandboxes/{sandboxID}/logs', {
      params: { path: { sandboxID: sandbox.sandboxId } },
    });
    expect(data?.logs.filter(({ message }) => message === 'sandbox resumed')).toHaveLength(1);
  });

  it('takes over in 15 seconds when a server is killed during a create, a pause and a fork', async () => {
    const killed = ownerOf('a');
    const left = other(killed);
    const made = [await create(killed), await create(killed), await create(killed), await create(killed)];
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    const [paused, forked] = made.filter((_, index) => homes[index] === 'a') as [Sandbox, Sandbox];
    for (const sandbox of made) await sandbox.files.write('/home/user/note', 'kept');
    const underWay = [create(killed), create(killed), paused.pause(), forked.fork({ count: 2 })];
    const all = Promise.allSettled(underWay);
    await expect.poll(() => replicas.onNodes().length, { interval: 5 }).toBeGreaterThan(made.length);
    await killed.service().stop('SIGKILL');
    const since = performance.now();
    const near = await insist(() => at(left, forked));
    await insist(() => near.pause({ memory: false }));
    expect(performance.now() - since).toBeLessThan(15_000);
    await all;
    // A create that was forwarded to the server that is left completes there, although its caller does not get to know.
    const known = new Set(made.map(({ sandboxId }) => sandboxId));
    for (const sandbox of made)
      expect(await (await insist(() => at(left, sandbox))).files.read('/home/user/note')).toBe('kept');
    await expect.poll(() => replicas.statesAt(left)).toEqual(['ready', 'ready']);
    const { data: listed = [] } = await left.api.GET('/v2/sandboxes', {});
    // What had begun is either whole or gone.
    await expect.poll(() => replicas.onNodes()).toHaveLength(listed.length);
    expect(replicas.onNodes().toSorted()).toEqual(listed.map(({ sandboxID }) => sandboxID).toSorted());
    for (const { sandboxID } of listed) {
      const sandbox = await Sandbox.connect(sandboxID, left.connection);
      expect(await echo(sandbox, 'whole')).toBe('whole');
      if (!known.has(sandboxID))
        expect(await nodes.explain(sandboxID, left.connection)).toMatchObject({ node: 'b' });
    }
    await expect
      .poll(async () => (await left.api.GET('/skerry/v1/nodes')).data?.map(({ load }) => load.snapshots))
      .toEqual([0, 0]);
    await killed.start();
  });

  it('refuses an owner that wakes up after its lease, and goes on with its streams', async () => {
    const asleep = ownerOf('a');
    const left = other(asleep);
    const made = [await create(left), await create(left)];
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    const sandbox = made[homes.indexOf('a')] as Sandbox;
    const lines: string[] = [];
    const stream = await sandbox.commands.run('i=0; while true; do i=$((i+1)); echo $i; sleep 0.1; done', {
      background: true,
      onStdout: (text) => void lines.push(...text.trim().split('\n')),
    });
    await expect.poll(() => lines.length).toBeGreaterThan(3);
    const since = performance.now();
    asleep.service().signal('SIGSTOP');
    await expect.poll(() => ownerOf('a') === left).toBe(true);
    await expect.poll(() => replicas.statesAt(left)).toEqual(['ready', 'ready']);
    expect(performance.now() - since).toBeLessThan(15_000);
    // The stream of the server that is left did not notice.
    const before = lines.length;
    await expect.poll(() => lines.length).toBeGreaterThan(before + 5);
    expect(lines).toEqual(lines.map((_, index) => String(index + 1)));
    await stream.kill();
    await sandbox.files.write('/home/user/note', 'kept');
    await sandbox.pause();
    asleep.service().signal('SIGCONT');
    await expect.poll(() => asleep.service().log()).toContain('another server has taken over a node');
    const back = await insist(() => at(asleep, sandbox));
    expect(await back.files.read('/home/user/note')).toBe('kept');
    expect(replicas.onNodes().toSorted()).toEqual(made.map(({ sandboxId }) => sandboxId).toSorted());
  });
});
