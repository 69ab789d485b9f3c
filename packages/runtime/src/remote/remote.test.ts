import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { agentPort } from '@skerry/contract/directory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { RuntimeError } from '../error.ts';
import { CLOSED_NETWORK } from '../network/policy.ts';
import type { Difference, InstanceSpec, SnapshotInfo } from '../runtime.ts';
import { callGuest } from '../suite/client.ts';
import { createRemote, createRemoteRuntime, dialSocket } from './client.ts';
import { type RuntimeServer, serveRuntime } from './server.ts';
import { createScriptedRuntime, exportedImage, used } from './testing/scripted-runtime.ts';

let dir: string;
let local: ReturnType<typeof createScriptedRuntime>;
let server: RuntimeServer;
let remote: AddressedRuntime;
let errors: Error[];
const onError = (error: Error): void => void errors.push(error);
const socketPath = (): string => join(dir, 'runtime.sock');

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'remote-'));
  errors = [];
  local = createScriptedRuntime(dir);
  server = await serveRuntime(local, { socketPath: socketPath(), onError });
  remote = await createRemoteRuntime({ socketPath: socketPath() });
});
afterEach(async () => {
  await remote.close();
  await server.close();
  await local.close();
  await rm(dir, { recursive: true });
});

const toSpec = (id: string, changes: Partial<InstanceSpec> = {}): InstanceSpec => ({
  id,
  rootfs: '/',
  hostname: id,
  limits: { cpuCount: 1, memoryBytes: 1 << 28, diskBytes: 1 << 30, processCount: 100 },
  network: CLOSED_NETWORK,
  ...changes,
});

const rawAnswer = async (input: string): Promise<string> => {
  const socket = connect(socketPath());
  socket.on('error', () => undefined).write(input);
  const heard = text(socket).catch((error: { code: string }) => error.code);
  return Promise.race([heard, setTimeout(20_000, 'still open')]).finally(() => socket.destroy());
};

describe('a runtime over a unix socket', () => {
  it('reports the name and the features of the runtime behind it', () => {
    expect(remote.name).toBe(local.name);
    expect(remote.features).toEqual(local.features);
  });

  it('creates, finds, lists and stops instances of the runtime behind it', async () => {
    const made = await remote.create(toSpec('one'));
    await remote.create(toSpec('two'));
    expect((await remote.get('one')).runId).toBe(made.runId);
    const listed: string[] = [];
    for await (const { id } of remote.list()) listed.push(id);
    expect(listed.sort()).toEqual(['one', 'two']);
    expect(await made.state()).toBe('running');
    expect(await made.usage()).toEqual(used);
    await made.stop();
    await made.stop();
    expect(await made.state()).toBe('stopped');
    await expect(remote.get('one')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('tells the states and the usage of many at the same time', async () => {
    const all = await Promise.all(['one', 'two', 'three'].map((id) => remote.create(toSpec(id))));
    await all[1]?.pause({ memory: false });
    await all[2]?.stop();
    expect(await Promise.all(all.map((one) => one.state()))).toEqual(['running', 'paused', 'stopped']);
    expect(await Promise.all(all.slice(0, 2).map((one) => one.usage()))).toEqual([used, used]);
  });

  it('shortens an error message to the size of a response', async () => {
    const made = await remote.create(toSpec('one'));
    await expect(made.snapshot({ id: 'wordy', memory: false })).rejects.toMatchObject({
      code: 'unsupported',
      message: 'x'.repeat(4_096),
    });
  });

  it('makes, lists, verifies and deletes snapshots of the runtime behind it', async () => {
    const made = await remote.create(toSpec('one'));
    await made.snapshot({ id: 'whole', memory: false });
    await made.snapshot({ id: 'torn', memory: false, unlisted: true });
    await made.snapshot({ id: 'passing', memory: false, ephemeral: true });
    expect(local.log.slice(1)).toEqual([
      'snapshot one whole false false false',
      'snapshot one torn false false true',
      'snapshot one passing false true false',
    ]);
    const list = async () => {
      const found: SnapshotInfo[] = [];
      for await (const snapshot of remote.snapshots.list()) found.push(snapshot);
      return found;
    };
    expect(await list()).toEqual([
      { id: 'whole', sizeBytes: 0 },
      { id: 'torn', sizeBytes: 0 },
    ]);
    expect(await remote.snapshots.exportImage('whole', { path: '/images/new' })).toEqual(exportedImage);
    expect(local.log.at(-1)).toBe('export whole /images/new');
    await expect(made.exportImage({ path: '/images/new' })).rejects.toMatchObject({ code: 'unsupported' });
    expect(await remote.snapshots.verify('whole')).toEqual([]);
    expect(await remote.snapshots.verify('torn')).toEqual(['its disk is gone']);
    const differences: Difference[] = [];
    for await (const one of remote.snapshots.diff({ snapshot: 'whole' }, { instance: 'one' }))
      differences.push(one);
    expect(differences).toEqual([
      { path: '[{"snapshot":"whole"},{"instance":"one"}]', change: 'changed', fields: ['mode'] },
    ]);
    await remote.snapshots.delete('torn');
    expect(await list()).toHaveLength(1);
    await expect(remote.snapshots.verify('torn')).rejects.toMatchObject({ code: 'not_found' });
    const { rootfs: _, ...rest } = { rootfs: '', ...toSpec('two') };
    await remote.create({ ...rest, snapshot: 'whole' });
    expect(local.log.at(-1)).toBe('create two of whole');
  });

  it('ends a comparison when its caller stops waiting', async () => {
    const abort = new AbortController();
    const next = remote.snapshots
      .diff({ rootfs: '/' }, { instance: 'one' }, { signal: abort.signal })
      [Symbol.asyncIterator]()
      .next();
    const refused = expect(next).rejects.toMatchObject({ name: 'RuntimeError', code: 'unavailable' });
    await expect.poll(() => local.log).toContain('diff');
    abort.abort();
    await refused;
    await expect.poll(() => local.log).toContain('diff aborted');
  });

  it('does not affect a later run of the same id', async () => {
    const first = await remote.create(toSpec('one'));
    await first.stop();
    const second = await remote.create(toSpec('one'));
    await first.stop();
    expect(await first.state()).toBe('stopped');
    expect(await second.state()).toBe('running');
  });

  it('reports the new run of a resumed instance, and the end of its last one', async () => {
    const made = await remote.create(toSpec('one'));
    const first = made.runId;
    const ended = new Promise<void>((resolve) => void made.onExit(resolve));
    await made.pause({ memory: false });
    await ended;
    expect(await made.state()).toBe('paused');
    expect(made.runId).toBe(first);
    await made.resume({ memory: false });
    await made.resume();
    expect(local.log).toContain('resume one false');
    expect(local.log).toContain('resume one undefined');
    expect(made.runId).not.toBe(first);
    expect(await made.state()).toBe('running');
    expect((await remote.get('one')).runId).toBe(made.runId);
    let isOver = false;
    made.onExit(() => {
      isOver = true;
    });
    await setTimeout(30);
    expect(isOver).toBe(false);
    await made.stop();
    await expect.poll(() => isOver).toBe(true);
  });

  it('reaches an instance that another client has resumed', async () => {
    const made = await remote.create(toSpec('one'));
    await made.pause({ memory: false });
    await (await local.get('one')).resume();
    expect(await made.state()).toBe('running');
    await made.stop();
    await expect(remote.get('one')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('passes on the abort of a resume', async () => {
    const creating = remote.create(toSpec('slow1'));
    local.release();
    const made = await creating;
    const controller = new AbortController();
    const resuming = made.resume({ signal: controller.signal });
    await expect.poll(() => local.log).toContain('resume slow1 undefined');
    controller.abort();
    await expect(resuming).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('connects to the agent without the other process in between', async () => {
    const made = await remote.create(toSpec('one'));
    await server.close();
    expect(await callGuest(await made.connect(agentPort), { path: '/' })).toBe('http of one');
    expect(await callGuest(await made.control(), { path: '/' })).toBe('control of one');
  });

  it('passes on the code of an error, but not its cause', async () => {
    await remote.create(toSpec('one'));
    await expect(remote.create(toSpec('one'))).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'already_exists',
    });
    const made = await remote.get('one');
    await expect(made.pause({ memory: true })).rejects.toMatchObject({ code: 'unsupported' });
    const failure = await made
      .snapshot({ id: 'secret', memory: false })
      .catch((error: RuntimeError) => error);
    expect(failure).toEqual(new RuntimeError('internal', 'snapshot failed'));
    const full = await made.snapshot({ id: 'full', memory: false }).catch((error: RuntimeError) => error);
    expect(full).toEqual(new RuntimeError('exhausted', 'the host is full'));
    const causes = errors.map(({ cause }) => (cause as Error).message);
    expect(causes).toEqual(['secret of the host', 'secret of its disk']);
  });

  it('has many pending calls on one connection', async () => {
    const slow = remote.create(toSpec('slow1'));
    await remote.create(toSpec('fast'));
    expect(await Promise.race([slow.then(() => 'slow'), setTimeout(20, 'still under way')])).toBe(
      'still under way',
    );
    local.release();
    expect((await slow).id).toBe('slow1');
  });

  it('passes on an abort and rejects when the other side has cleaned up', async () => {
    const controller = new AbortController();
    const creating = remote.create(toSpec('slow1'), { signal: controller.signal });
    await expect.poll(() => local.log).toContain('create slow1');
    controller.abort();
    await expect(creating).rejects.toMatchObject({ code: 'unavailable' });
    expect(local.log).toContain('undone slow1');
  });

  it('undoes the pending calls of a client that has disconnected', async () => {
    const creating = remote.create(toSpec('slow1'));
    await expect.poll(() => local.log).toContain('create slow1');
    await remote.close();
    await expect(creating).rejects.toMatchObject({ code: 'unavailable' });
    await expect.poll(() => local.log).toContain('undone slow1');
  });

  it('calls each listener once when a run ends, but not one that was removed', async () => {
    const made = await remote.create(toSpec('one'));
    const heard: string[] = [];
    made.onExit(() => heard.push('first'));
    (await remote.get('one')).onExit(() => heard.push('second'));
    made.onExit(() => heard.push('left'))();
    await setTimeout(50);
    expect(heard).toEqual([]);
    await made.stop();
    await expect.poll(() => heard).toEqual(['first', 'second']);
    made.onExit(() => heard.push('late'));
    await expect.poll(() => heard).toEqual(['first', 'second', 'late']);
  });

  it('rejects pending calls with "unavailable" when the other process ends, and later calls succeed', async () => {
    const made = await remote.create(toSpec('one'));
    const ended = new Promise<void>((resolve) => made.onExit(resolve));
    const creating = remote.create(toSpec('slow1'));
    await expect.poll(() => local.log).toContain('create slow1');
    const closing = server.close();
    await expect(creating).rejects.toMatchObject({ code: 'unavailable' });
    await closing;
    await expect(remote.get('one')).rejects.toMatchObject({ code: 'unavailable' });
    await (await local.get('one')).stop();
    server = await serveRuntime(local, { socketPath: socketPath(), onError });
    // An attempt to reconnect that began before may still be pending.
    const lookUp = () => remote.get('one').catch((error: RuntimeError) => error.code);
    await expect.poll(lookUp).toBe('not_found');
    // The run ended while there was no connection; the new connection asks again.
    await ended;
    expect((await remote.create(toSpec('two'))).id).toBe('two');
  });

  it('repeats a call that the ended process cannot have read, to the next process', async () => {
    const ends: Socket[] = [];
    const front = createServer((client) => {
      ends.push(client);
      const back = connect(socketPath());
      client.on('error', () => undefined).pipe(back);
      back.on('error', () => undefined).pipe(client);
    }).listen(join(dir, 'front.sock'));
    await once(front, 'listening');
    const other = await createRemote({ dial: () => dialSocket(join(dir, 'front.sock')) });
    try {
      // The end of the connection is reported in the next turn of the event loop.
      ends[0]?.destroy();
      expect((await other.create(toSpec('one'))).id).toBe('one');
      expect(local.log.filter((line) => line === 'create one')).toHaveLength(1);
      expect(ends).toHaveLength(2);
      for (const end of ends) end.destroy();
      front.close();
      await expect(other.get('one')).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      await other.close();
      front.close();
    }
  });

  it('repeats a call that began after the end of its connection and before that was reported', async () => {
    const ends: Socket[] = [];
    const dial = async (): Promise<Socket> => {
      const end = await dialSocket(socketPath());
      ends.push(end);
      return end;
    };
    const other = await createRemote({ dial });
    try {
      ends[0]?.destroy();
      expect((await other.create(toSpec('one'))).id).toBe('one');
      expect(ends).toHaveLength(2);
    } finally {
      await other.close();
    }
  });

  it('notices that the other side has ended by the time of the connection to it', async () => {
    let isFirst = true;
    const dial = async (): Promise<Socket> => {
      const end = await dialSocket(socketPath());
      if (isFirst) await once(end.destroy(), 'close');
      isFirst = false;
      return end;
    };
    await expect(createRemote({ dial })).rejects.toMatchObject({ code: 'unavailable' });
    const other = await createRemote({ dial });
    await other.close();
  });

  it('answers a malformed spec with the name of the field, and serves other pending calls', async () => {
    const slow = remote.create(toSpec('slow'));
    await expect(remote.create(toSpec('../up'))).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/^spec\.id /),
    });
    await expect(remote.create(toSpec('one', { rootfs: 'x' }))).rejects.toThrow(/^spec\.rootfs /);
    await expect(remote.get('../up')).rejects.toMatchObject({ code: 'not_found' });
    local.release();
    expect((await slow).id).toBe('slow');
    expect(local.log).toEqual(['create slow']);
  });

  it('can be opened by its own user only', async () => {
    expect((await stat(socketPath())).mode & 0o777).toBe(0o600);
  });

  it.each<[string, string]>([
    ['HTTP/1.1', 'GET / HTTP/1.1\r\n\r\n'],
    ['no HTTP', '{"id":1,"method":"list"}\n'],
    ['an endless line', 'x'.repeat(100_000)],
  ])('cuts off a client that speaks %s', async (_what, input) => {
    expect(await rawAnswer(input)).not.toBe('still open');
    expect(errors).toHaveLength(1);
    expect(local.log).toEqual([]);
    expect((await remote.create(toSpec('one'))).id).toBe('one');
  });

  it('works in a folder whose path is longer than a socket name may be', async () => {
    const deep = join(dir, 'x'.repeat(120));
    await mkdir(deep);
    const path = join(deep, 'runtime.sock');
    const deepServer = await serveRuntime(local, { socketPath: path, onError });
    const client = await createRemoteRuntime({ socketPath: path });
    expect((await client.create(toSpec('one'))).id).toBe('one');
    await client.close();
    await deepServer.close();
    expect(await readdir(deep)).toEqual([]);
  });

  it('replaces a server that was killed', async () => {
    const path = join(dir, 'left.sock');
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    await once(spawn(process.execPath, ['-e', script]), 'exit');
    expect((await stat(path)).isSocket()).toBe(true);
    const next = await serveRuntime(local, { socketPath: path, onError });
    const client = await createRemoteRuntime({ socketPath: path });
    await client.close();
    await next.close();
  });

  it('rejects with "unavailable" when no process listens', async () => {
    await expect(createRemoteRuntime({ socketPath: join(dir, 'none.sock') })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
