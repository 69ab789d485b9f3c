import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer, text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AddressedInstance } from '../drivers/guest-socket.ts';
import { createMemory } from '../drivers/memory/memory.ts';
import { RuntimeLostError } from '../error.ts';
import { CLOSED_NETWORK } from '../network/policy.ts';
import { connectNode } from './connect-node.ts';
import { type Credentials, loadCredentials } from './credentials.ts';
import { createNodeRuntime, type NodeRuntime } from './node-runtime.ts';
import type { Claim } from './opening.ts';
import { type NodeServer, serveNode } from './serve-node.ts';
import { createImagesInMemory } from './testing/images-in-memory.ts';
import { makeTestAuthority, type TestAuthority } from './testing/write-credentials.ts';

const agent =
  (id: string, socket: string): RequestListener =>
  (request, response) => {
    if (request.method === 'POST') request.pipe(response);
    else response.end(`${socket} of ${id}`);
  };
const description = {
  version: '1.2.3',
  base: { rootfs: '/images/base.ext4', digest: 'sha256:1' },
  templatesFolder: '/data/templates',
  room: { sandboxes: 7, memoryBytes: 5 * 2 ** 30, cpuCount: 3 },
  usedMemoryBytes: 2 ** 30,
};

let folder: string;
let authority: TestAuthority;
let platform: Credentials;
let server: NodeServer;
const opened: { close(): Promise<void> }[] = [];
const owners: Claim[] = [];

const dataDir = mkdtempSync(join(tmpdir(), 'skerry-node-memory-'));
const memory = createMemory({ dataDir, agent });

const errors: Error[] = [];
const strangers: [message: string, error: unknown][] = [];
const serve = async (more: { port?: number } = {}): Promise<NodeServer> => {
  const credentials = loadCredentials(await authority.write({ role: 'node', name: 'a' }), { role: 'node' });
  const served = await serveNode(memory, {
    listen: { host: '127.0.0.1', port: more.port ?? 0 },
    credentials,
    ownerFile: join(folder, 'owner.json'),
    measureFolder: async (folder) => (folder === 'snapshots' ? [['s1', 4_096]] : []),
    describe: () => description,
    images: createImagesInMemory(),
    snapshotSocket: '/nonexistent/snapshots.sock',
    onOwner: (owner) => owners.push(owner),
    onError: (error) => errors.push(error),
    onStranger: (message, { error }) => strangers.push([message, error]),
  });
  opened.push(served);
  return served;
};

const claim = (epoch: number, more: Partial<Claim> = {}): Claim => ({
  installation: 'one',
  owner: `server ${epoch}`,
  epoch,
  ...more,
});

const dial = async (
  given: Claim,
  { credentials = platform, name = 'a' }: { credentials?: Credentials; name?: string } = {},
): Promise<NodeRuntime> => {
  const runtime = await createNodeRuntime({
    address: { name, ...server.address },
    credentials,
    claim: given,
  });
  opened.push(runtime);
  return runtime;
};

const reasonOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'it was accepted',
    (error: unknown) => {
      expect(error).toBeInstanceOf(RuntimeLostError);
      return ((error as Error).cause as Error).message;
    },
  );

const create = (runtime: NodeRuntime, id: string): Promise<AddressedInstance> =>
  runtime.create({
    id,
    rootfs: '/',
    hostname: id,
    limits: { cpuCount: 1, memoryBytes: 1, diskBytes: 1, processCount: 1 },
    network: CLOSED_NETWORK,
  });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-node-'));
  authority = await makeTestAuthority(join(folder, 'certificates'));
  platform = loadCredentials(await authority.write({ role: 'platform' }), { role: 'platform' });
  server = await serve();
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  for await (const instance of memory.list()) await instance.stop();
  owners.length = 0;
  rmSync(folder, { recursive: true });
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe('a node', () => {
  it('describes itself, and makes sandboxes whose agents are reached through its door', async () => {
    const runtime = await dial(claim(1));
    expect(await runtime.describeNode({ timeoutMs: 60_000 })).toEqual(description);
    expect(runtime.features).toEqual(memory.features);
    expect(await runtime.measureFolder('snapshots')).toEqual(new Map([['s1', 4_096]]));
    expect(await runtime.measureFolder('templates')).toEqual(new Map());
    const instance = await create(runtime, 'i1');
    const streams = await Promise.all([instance.connect(49_983), instance.control()]);
    for (const stream of streams) stream.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const [http, control] = await Promise.all(streams.map((stream) => text(stream)));
    expect(http).toContain('http of i1');
    expect(control).toContain('control of i1');
    await expect(instance.connect(8080)).rejects.toMatchObject({ code: 'refused' });
    await expect(instance.connect(70_000)).rejects.toMatchObject({ code: 'refused' });
  });

  it('passes large bodies both ways, without a loss and with the pace of the reader', async () => {
    const instance = await create(await dial(claim(1)), 'i1');
    const stream = await instance.connect(49_983);
    const body = Buffer.alloc(20 * 2 ** 20, 'abcdefghijklmnopqrstuvwxyz');
    stream.write(`POST / HTTP/1.0\r\nContent-Length: ${body.length}\r\n\r\n`);
    stream.write(body);
    const answer = await buffer(stream);
    expect(answer.subarray(-body.length).equals(body)).toBe(true);
  });

  it('ends streams and reports the end of a run, and never joins a stream to another run', async () => {
    const instance = await create(await dial(claim(1)), 'i1');
    const ended = new Promise<void>((resolve) => instance.onExit(resolve));
    const stream = await instance.control();
    const closed = new Promise((resolve) => stream.once('close', resolve));
    await instance.pause({ memory: false });
    await Promise.all([ended, closed]);
    const stale = await create(await dial(claim(1)), 'i2');
    await (await memory.get('i2')).stop();
    await memory.create({ ...(await specOf('i2')) });
    await expect(stale.connect(49_983)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('keeps its handles over a restart of the node, and refuses calls meanwhile', async () => {
    const states: boolean[] = [];
    const runtime = await createNodeRuntime({
      address: { name: 'a', ...server.address },
      credentials: platform,
      claim: claim(1),
      onConnection: (isConnected) => states.push(isConnected),
    });
    opened.push(runtime);
    const instance = await create(runtime, 'i1');
    await server.close();
    await expect.poll(() => states).toEqual([true, false]);
    await expect(instance.usage()).rejects.toBeInstanceOf(RuntimeLostError);
    await expect(instance.connect(49_983)).rejects.toMatchObject({ code: 'unavailable' });
    await serve({ port: server.address.port });
    await expect.poll(() => states).toEqual([true, false, true]);
    expect(await instance.state()).toBe('running');
  });

  it('has one owner: the last with a higher epoch, whose predecessor is cut off and refused, also after a restart', async () => {
    const first = await dial(claim(1));
    const instance = await create(first, 'i1');
    const second = await dial(claim(2));
    expect(owners.map(({ epoch }) => epoch)).toEqual([1, 2]);
    await expect
      .poll(() => reasonOf(instance.usage()))
      .toContain('another server owns this node, with epoch 2');
    expect(await (await second.get('i1')).state()).toBe('running');
    await server.close();
    server = await serve();
    expect(await reasonOf(dial(claim(1)))).toContain('another server owns this node, with epoch 2');
    expect(await reasonOf(dial(claim(2, { owner: 'a twin' })))).toContain('epoch 2, and this one has 2');
    expect(await reasonOf(dial(claim(9, { installation: 'two' })))).toContain(
      'belongs to another installation',
    );
    await dial(claim(2));
  });

  it('refuses what is not the platform of its authority, and is refused when it is not the node of that name', async () => {
    expect(await reasonOf(dial(claim(1), { name: 'b' }))).toContain('its certificate is for node "a"');
    const others = await makeTestAuthority(join(folder, 'others'));
    const foreign = loadCredentials(await others.write({ role: 'platform' }), { role: 'platform' });
    expect(await reasonOf(dial(claim(1), { credentials: { ...foreign, ca: platform.ca } }))).not.toContain(
      'accepted',
    );
    expect(await reasonOf(dial(claim(1), { credentials: foreign }))).toContain('certificate');
    const ofNode = loadCredentials(await authority.write({ role: 'node', name: 'b' }), { role: 'node' });
    expect(await reasonOf(dial(claim(1), { credentials: ofNode }))).not.toContain('accepted');
    const past = Date.now() - 1_000;
    const files = await authority.write({ role: 'platform' }, { days: 0, now: past });
    const expired = loadCredentials(files, { role: 'platform', now: new Date(past - 5_000) });
    expect(await reasonOf(dial(claim(1), { credentials: expired }))).not.toContain('accepted');
    expect(owners).toEqual([]);
  });

  it('speaks TLS 1.3 only, and ends connections that are not those of a server', async () => {
    const { host, port } = server.address;
    const plain = connectPlain(port, host);
    plain.end('GET / HTTP/1.1\r\n\r\n');
    expect(await text(plain)).not.toContain('HTTP');
    const { cert, key, ca } = platform;
    const checkServerIdentity = () => undefined;
    const old = connectTls({ host, port, cert, key, ca, maxVersion: 'TLSv1.2', checkServerIdentity });
    await expect(new Promise((_resolve, reject) => old.once('error', reject))).rejects.toThrow();
    const ALPNProtocols = ['h2'];
    const wrong = connectTls({ host, port, cert, key, ca, checkServerIdentity, ALPNProtocols });
    wrong.write('PRI * HTTP/2.0\r\n\r\n');
    expect(await text(wrong)).toContain('does not speak the protocol of nodes');
  });

  it('reports a wrong handshake, and not a connection that ends before it, as that of a probe', async () => {
    const { host, port } = server.address;
    strangers.length = 0;
    const probe = connectPlain(port, host);
    probe.once('connect', () => probe.end());
    await once(probe.resume(), 'close');
    const wrong = connectPlain(port, host);
    wrong.end('GET / HTTP/1.1\r\n\r\n');
    await text(wrong);
    await expect
      .poll(() => strangers)
      .toEqual([['a connection of another machine failed', expect.any(Error)]]);
  });

  it('holds no more than its bound of connections that never finish their handshake, and serves meanwhile', async () => {
    const { host, port } = server.address;
    strangers.length = 0;
    const silent: Socket[] = [];
    for (let round = 0; round < 9; round += 1) {
      const more = Array.from({ length: 100 }, () => connectPlain(port, host).on('error', () => undefined));
      silent.push(...more);
      for (const socket of more) socket.resume().write(Buffer.from('1603010200010001fc0303', 'hex'));
      const connecting = more.filter((socket) => socket.connecting);
      await Promise.all(connecting.map((socket) => once(socket, 'connect')));
    }
    const isOpen = ({ destroyed }: Socket): boolean => !destroyed;
    await expect.poll(() => silent.filter(isOpen).length).toBe(768);
    expect(strangers[0]?.[0]).toBe(
      'one address has too many unidentified connections to the port for servers',
    );
    const runtime = await dial(claim(1));
    expect(await runtime.describeNode({ timeoutMs: 60_000 })).toEqual(description);
    for (const socket of silent) socket.destroy();
  });
});

const specOf = async (id: string) => ({
  id,
  rootfs: '/',
  hostname: id,
  limits: { cpuCount: 1, memoryBytes: 1, diskBytes: 1, processCount: 1 },
  network: CLOSED_NETWORK,
});

describe('the version of the protocol of nodes', () => {
  const answerTo = async (protocol: unknown): Promise<Record<string, unknown>> => {
    const { host, port } = server.address;
    const { cert, key, ca } = platform;
    const options = {
      host,
      port,
      cert,
      key,
      ca,
      ALPNProtocols: ['h2'],
      checkServerIdentity: () => undefined,
    };
    const socket = connectTls(options);
    socket.write(`${JSON.stringify({ protocol, use: 'runtime', ...claim(1), addedLater: true })}\n`);
    const [answer] = (await once(createInterface({ input: socket }), 'line')) as [string];
    socket.destroy();
    return JSON.parse(answer) as Record<string, unknown>;
  };

  it.each([1, 2])(
    '%i of a server works with a node of version 1, whatever fields were added',
    async (version) => {
      expect(await answerTo(version)).toEqual({});
    },
  );

  it.each([
    [3, 'upgrade the node'],
    [0, 'upgrade the server'],
  ])('%i of a server is refused by a node of version 1', async (version, advice) => {
    expect(await answerTo(version)).toEqual({
      code: 'unsupported',
      message: `the node has version 1 of the protocol of nodes and works with servers of versions 1 to 2, and this server has ${version}: ${advice}`,
    });
    expect(owners).toEqual([]);
  });

  it.each([undefined, '1', 1.5, null])('that is %j is refused', async (version) => {
    expect(await answerTo(version)).toMatchObject({ code: 'unsupported' });
    expect(owners).toEqual([]);
  });
});

describe('the connection to a node', () => {
  it('reports the node when it answers, its loss, and its return with the same runtime', async () => {
    const events: string[] = [];
    const { port } = server.address;
    await server.close();
    const connection = connectNode({
      address: { name: 'a', host: '127.0.0.1', port },
      credentials: platform,
      claim: claim(1),
      intervalMs: 20,
      timeoutMs: 60_000,
      onAnswer: ({ version }) => events.push(version),
      onFailure: ({ message }) => events.push(message),
    });
    opened.push(connection);
    await expect.poll(() => events.at(-1)).toContain('ECONNREFUSED');
    expect(connection.runtime).toBeUndefined();
    server = await serve({ port });
    await expect.poll(() => events.at(-1)).toBe('1.2.3');
    const { runtime } = connection;
    expect((await create(runtime as NodeRuntime, 'i1')).id).toBe('i1');
    await server.close();
    await expect.poll(() => events.at(-1)).toContain('ECONNREFUSED');
    server = await serve({ port });
    await expect.poll(() => events.at(-1)).toBe('1.2.3');
    expect(connection.runtime).toBe(runtime);
    expect(await (await (runtime as NodeRuntime).get('i1')).state()).toBe('running');
  });
});
