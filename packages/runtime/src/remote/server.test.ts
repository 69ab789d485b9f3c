import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { CLOSED_NETWORK } from '../network/policy.ts';
import { dialSocket } from './client.ts';
import { type Connection, createConnection } from './connection.ts';
import { fromConnectError } from './failure.ts';
import { type RuntimeServer, serveRuntime } from './server.ts';
import { createScriptedRuntime } from './testing/scripted-runtime.ts';

let dir: string;
let runtime: ReturnType<typeof createScriptedRuntime>;
let server: RuntimeServer;
let connection: Connection;
let client: Client<typeof RuntimeService>;
let errors: Error[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'remote-server-'));
  errors = [];
  runtime = createScriptedRuntime(dir);
  const socketPath = join(dir, 'runtime.sock');
  server = await serveRuntime(runtime, { socketPath, onError: (error) => void errors.push(error) });
  connection = await createConnection(await dialSocket(socketPath), { onEnd: () => undefined });
  client = createClient(RuntimeService, connection.transport);
});
afterEach(async () => {
  connection.close();
  await server.close();
  await runtime.close();
  await rm(dir, { recursive: true });
});

const toSpec = (id: string) => ({
  id,
  hostname: id,
  limits: { cpuCount: 1, memoryBytes: 1n << 28n, diskBytes: 1n << 30n, processCount: 100n },
  network: JSON.stringify(CLOSED_NETWORK),
  origin: { case: 'rootfs' as const, value: '/' },
});
const create = (id: string, call = id) => client.create({ spec: toSpec(id), call });
const target = { instance: '../../etc', birthId: 'b' };

/** What the driver would have thrown, or the code of the transport. */
const refusal = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(() => undefined, ConnectError.from);
  if (!error) return 'answered';
  return error.details.length > 0 ? fromConnectError(error).message : (Code[error.code] as string);
};

describe('the server', () => {
  it('answers for the other instances when one of several ids is none', async () => {
    const { instance } = await create('one');
    const targets = [target, { instance: 'one', birthId: instance?.birthId ?? '' }];
    const states = await client.listStates({ targets });
    expect(states.found.map(({ birthId }) => birthId)).toEqual([instance?.birthId]);
    expect((await client.listUsage({ targets: [target] })).measured).toEqual([]);
  });

  it.each<[string, RegExp, () => Promise<unknown>]>([
    ['a path as an id', /^target\.instance must be 1 to 40 /, () => client.stop({ target })],
    ['no target', /^target is missing/, () => client.getState({})],
    [
      'no birth id',
      /has ended, and another/,
      async () => {
        await create('one');
        await client.stop({ target: { instance: 'one' } });
      },
    ],
    [
      'a snapshot that is a path',
      /^snapshot must be 1 to 40 /,
      () => client.deleteSnapshot({ snapshot: '../up' }),
    ],
    ['no spec', /^spec is missing/, () => client.create({ call: 'one' })],
    ['no id of the call', /^call must be an id /, () => client.create({ spec: toSpec('one') })],
    ['the id of a pending call', /^call must be an id /, () => create('one', 'slow1')],
    ['a message that is too long', /^ResourceExhausted$/, () => client.get({ instance: 'x'.repeat(20_000) })],
  ])(
    'refuses %s, leaves the driver alone and serves what else is under way',
    async (_what, expected, call) => {
      const slow = create('slow1');
      await expect.poll(() => runtime.log).toContain('create slow1');
      expect(await refusal(call())).toMatch(expected);
      runtime.release();
      expect((await slow).instance?.id).toBe('slow1');
      expect(runtime.log.filter((line) => !line.startsWith('create '))).toEqual([]);
    },
  );

  it('ends the stream of a client that watches no run', async () => {
    const requests = (async function* () {
      yield {};
      await setTimeout(60_000);
    })();
    const read = async () => {
      for await (const _ of client.watch(requests)) expect.unreachable();
    };
    expect(await refusal(read())).toMatch('run is missing');
  });

  it('continues to watch when one run cannot be watched', async () => {
    const runId = (await create('one')).instance?.runId ?? '';
    const requests = (async function* () {
      yield { run: { instance: 'torn', runId: 'r' } };
      yield { run: { instance: 'one', runId } };
      await setTimeout(60_000);
    })();
    const left = new AbortController();
    const ends = client.watch(requests, { signal: left.signal })[Symbol.asyncIterator]();
    const first = ends.next();
    await expect.poll(() => errors.map(({ message }) => message)).toEqual(['its record is torn']);
    await (await runtime.get('one')).stop();
    expect((await first).value.run).toMatchObject({ instance: 'one', runId });
    left.abort();
  });

  it('ends a list when its reader leaves, and answers other calls while the reader takes no more of it', async () => {
    runtime.listsForEver();
    const left = new AbortController();
    const list = client.list({}, { signal: left.signal })[Symbol.asyncIterator]();
    expect((await list.next()).value.instance.id).toBe('endless');
    await create('one');
    const before = runtime.listed();
    await setTimeout(200);
    expect(runtime.listed() - before).toBeLessThan(5_000);
    expect((await client.get({ instance: 'one' })).instance?.id).toBe('one');
    expect(runtime.log).not.toContain('list left');
    left.abort();
    await expect.poll(() => runtime.log).toContain('list left');
    expect(errors).toEqual([]);
  });

  it('does not report a client that closes its connection or is killed', async () => {
    const close = [
      (each: Connection) => each.close(),
      (_each: Connection, socket: Socket) => socket.destroy(),
    ];
    for (const leave of close) {
      const socket = await dialSocket(join(dir, 'runtime.sock'));
      const other = await createConnection(socket, { onEnd: () => undefined });
      const call = refusal(
        createClient(RuntimeService, other.transport).create({ spec: toSpec('slow1'), call: 'slow1' }),
      );
      await expect.poll(() => runtime.log.at(-1)).toBe('create slow1');
      leave(other, socket);
      await call;
      await expect.poll(() => runtime.log.at(-1)).toBe('undone slow1');
    }
    expect(errors).toEqual([]);
  });

  it('waits at its end for the calls that it cancelled', async () => {
    const refused = refusal(create('slow1'));
    await expect.poll(() => runtime.log).toContain('create slow1');
    await server.close();
    expect(runtime.log).toContain('undone slow1');
    expect(await refused).toMatch(/^(Unavailable|Canceled)$/);
  });

  it('cancels a pending call, which responds when its work is undone', async () => {
    const refused = refusal(create('slow1'));
    await expect.poll(() => runtime.log).toContain('create slow1');
    expect((await client.cancel({ call: 'slow1' })).found).toBe(true);
    expect(await refused).toBe('aborted');
    expect(runtime.log).toEqual(['create slow1', 'undone slow1']);
    expect((await client.cancel({ call: 'slow1' })).found).toBe(false);
  });

  it('undoes the work of a call whose HTTP/2 stream is reset', async () => {
    const controller = new AbortController();
    const call = client.create({ spec: toSpec('slow1'), call: 'slow1' }, { signal: controller.signal });
    await expect.poll(() => runtime.log).toContain('create slow1');
    controller.abort();
    expect(await refusal(call)).toBe('Canceled');
    await expect.poll(() => runtime.log).toContain('undone slow1');
    expect(errors).toEqual([]);
  });
});
