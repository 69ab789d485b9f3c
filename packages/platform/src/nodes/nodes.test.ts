import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeError, RuntimeLostError } from '@skerry/runtime';
import type { NodeDescription } from '@skerry/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRandomIds } from '../ids.ts';
import { defaultLimits } from '../limits.ts';
import { type ControlPlane, createControlPlane } from '../sandboxes/control-plane.ts';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { createFaultyRuntime, type FaultyRuntime } from '../testing/faulty-runtime.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { baseOfNode } from './fleet-runtime.ts';
import type { ConnectNode } from './member.ts';
import { createNodes, type Nodes } from './nodes.ts';
import { createImagesInMemory } from './testing/images-in-memory.ts';

const template = { id: 't1', name: 'base', kind: 'image' as const, public: false };
const size = { createdAt: 0, cpuCount: 1, memoryMb: 128, diskMb: 1 };
const deadMs = 60_000;

/** A node whose link a test puts up and down. */
interface TestNode {
  runtime: FaultyRuntime;
  epoch: number;
  up(): void;
  down(): void;
}

let folder: string;
let store: Store;
let manual: ReturnType<typeof createManualClock>;
let nodes: Nodes;
let plane: ControlPlane;
let world: Record<string, TestNode>;
const runtimes = new Map<string, FaultyRuntime>();

const description: NodeDescription = {
  version: '1',
  base: { rootfs: '/', digest: 'sha256:1' },
  templatesFolder: '/templates',
  room: { sandboxes: 2, memoryBytes: 2 ** 30, cpuCount: 1 },
};

/** Starts a server on the existing state, with these nodes up. */
const start = async (names: readonly string[], up: readonly string[] = names): Promise<void> => {
  world = {};
  const { log } = createRecordingLog();
  const connect: ConnectNode = ({ name, epoch }, { onAnswer, onFailure }) => {
    const runtime =
      runtimes.get(name) ??
      createFaultyRuntime({ dataDir: join(folder, name), pause: { memory: true, filesystem: true } });
    runtimes.set(name, runtime);
    const node: TestNode = {
      runtime,
      epoch,
      up: () => onAnswer(description),
      down: () => onFailure(new Error('cut')),
    };
    world[name] = node;
    queueMicrotask(up.includes(name) ? node.up : node.down);
    const images = createImagesInMemory(join(folder, name), new Map());
    return { runtime, images, close: async () => {} };
  };
  const { clock } = manual;
  const listed = names.map((name) => ({ name, address: `${name}:1` }));
  nodes = createNodes({ listed, connect, store, clock, log, deadMs });
  plane = createControlPlane({
    ...{ store, nodes, runtime: nodes.runtime, clock, log, secret: 'secret', limits: defaultLimits },
    images: { base: { rootfs: baseOfNode } },
    ids: createRandomIds(),
  });
  await plane.start({ ...template, ...size });
  await nodes.start({
    ...{ settle: plane.settleNode, lose: plane.loseNode, isIdle: plane.isIdleOn },
    ...{ leave: plane.leaveNode, check: plane.checkRoutes },
  });
};
const stop = async (): Promise<void> => {
  await plane.close();
  await nodes.close();
};
const at = (name: string): TestNode => world[name] as TestNode;
const create = async (more: { snapshot?: string } = {}): Promise<string> => {
  const snapshot = more.snapshot === undefined ? null : await store.findTagOf(more.snapshot);
  const made = await plane.lifecycle.create({
    template: { ...template, ...size },
    snapshot: snapshot ?? null,
    ...{ build: null, timeoutMs: 3_600_000, metadata: {}, envVars: {}, secure: true },
    ...{ allowInternet: null, autoPause: null },
  });
  return made.id;
};
const nodeOf = async (id: string): Promise<string | null | undefined> => (await store.findSandbox(id))?.node;
const stateOf = async (id: string): Promise<string | undefined> => (await store.findSandbox(id))?.state;
const states = async () => Object.fromEntries((await nodes.list()).map(({ name, state }) => [name, state]));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skerry-nodes-'));
  store = await createStore({ path: join(folder, 'skerry.db') });
  manual = createManualClock();
});
afterEach(async () => {
  await stop();
  for (const runtime of runtimes.values()) await runtime.close();
  runtimes.clear();
  await store.close();
  await rm(folder, { recursive: true });
});

describe('nodes', () => {
  it('share sandboxes that are created at the same time, up to their places', async () => {
    await start(['a', 'b']);
    const made = await Promise.allSettled(Array.from({ length: 6 }, () => create()));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    expect(at('a').runtime.instances.size).toBe(2);
    expect(at('b').runtime.instances.size).toBe(2);
    const [refused] = made.filter((outcome) => outcome.status === 'rejected');
    expect(refused?.reason).toMatchObject({
      status: 503,
      message: 'no node can take the sandbox now: a is full, b is full',
    });
  });

  it('try the next one when a machine is full, and say so when all are', async () => {
    await start(['a', 'b']);
    const full = new RuntimeError('exhausted', 'no slot');
    at('a').runtime.fail('create', full);
    const id = await create();
    expect(await nodeOf(id)).toBe('b');
    at('a').runtime.fail('create', full);
    at('b').runtime.fail('create', full);
    await expect(create()).rejects.toMatchObject({ status: 503 });
    expect(at('a').runtime.instances.size + at('b').runtime.instances.size).toBe(1);
  });

  it('keep what begins with a snapshot, and forks, where it is', async () => {
    await start(['a', 'b']);
    await create();
    const source = await create();
    expect(await nodeOf(source)).toBe('b');
    const { id } = await plane.snapshotting.create(source, {
      kind: 'filesystem',
      name: null,
      tag: 'default',
    });
    expect(await nodeOf(await create({ snapshot: id }))).toBe('b');
    await expect(create({ snapshot: id })).rejects.toMatchObject({
      message: 'what the sandbox begins with is on node "b" only: b is full',
    });
    const [copy] = await plane.forking.fork(source, { count: 1, timeoutMs: 1_000 });
    expect(copy).toMatchObject({ status: 'rejected', reason: { status: 503 } });
  });

  it('lose what runs when one does not answer for too long, and nothing before or that is paused', async () => {
    await start(['a', 'b']);
    const [near, far] = [await create(), await create()];
    const paused = await (async () => {
      await plane.lifecycle.kill(near);
      await nodes.setCordoned('a', true);
      const id = await create();
      await nodes.setCordoned('a', false);
      await plane.pausing.pause(id, 'filesystem');
      return id;
    })();
    expect([await nodeOf(far), await nodeOf(paused)]).toEqual(['b', 'b']);
    at('b').down();
    expect(await states()).toEqual({ a: 'ready', b: 'unreachable' });
    manual.advance(deadMs - 1);
    await expect(plane.resuming.connect(paused, { timeoutMs: 1, memory: true })).rejects.toMatchObject({
      node: 'b',
      message: 'node "b" cannot be reached',
    });
    expect([await stateOf(far), await stateOf(paused)]).toEqual(['running', 'paused']);
    expect(await plane.directory.find(far)).toBeDefined();
    manual.advance(1);
    await expect.poll(() => stateOf(far)).toBe('killing');
    expect(await store.findSandbox(far)).toMatchObject({ cause: 'lost' });
    expect(await plane.directory.find(far)).toBeUndefined();
    expect(await states()).toEqual({ a: 'ready', b: 'lost' });
    expect(await nodeOf(await create())).toBe('a');

    expect(at('b').runtime.instances.has(far)).toBe(true);
    at('b').up();
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    expect(at('b').runtime.instances.has(far)).toBe(false);
    expect([await stateOf(far), await stateOf(paused)]).toEqual(['ended', 'paused']);
    await plane.resuming.connect(paused, { timeoutMs: 1_000, memory: true });
    expect(await stateOf(paused)).toBe('running');
  });

  it('take no work after their return until what was lost there is stopped', async () => {
    await start(['a', 'b']);
    await create();
    const [lost, paused] = [await create(), await create().then(() => create())];
    expect([await nodeOf(lost), await nodeOf(paused)]).toEqual(['b', 'b']);
    await plane.pausing.pause(paused, 'filesystem');
    at('b').down();
    manual.advance(deadMs);
    await expect.poll(() => stateOf(lost)).toBe('killing');
    at('b').runtime.fail('stop', new RuntimeError('internal', 'not now'));
    at('b').up();
    await expect.poll(() => at('b').runtime.log.includes(`stop ${lost}`)).toBe(true);
    await expect(plane.resuming.connect(paused, { timeoutMs: 1_000, memory: true })).rejects.toMatchObject({
      status: 503,
      message: 'node "b" has just come back: try again in a moment',
    });
    expect(await states()).toEqual({ a: 'ready', b: 'settling' });
    await expect
      .poll(() => {
        at('b').up();
        return states();
      })
      .toEqual({ a: 'ready', b: 'ready' });
    expect(at('b').runtime.instances.has(lost)).toBe(false);
    await plane.resuming.connect(paused, { timeoutMs: 1_000, memory: true });
  });

  it('are claimed with a higher epoch by each server, which finds their sandboxes when they answer', async () => {
    await start(['a', 'b']);
    const [first, second] = [await create(), await create()];
    await stop();
    await start(['a', 'b'], ['a']);
    expect([at('a').epoch, at('b').epoch]).toEqual([2, 2]);
    expect(await plane.directory.find(first)).toBeDefined();
    expect(await plane.directory.find(second)).toBeUndefined();
    expect(await stateOf(second)).toBe('running');
    at('b').up();
    await expect.poll(() => plane.directory.find(second)).toBeDefined();
  });

  it('end what a lost create has made, at the latest when they answer again', async () => {
    await start(['a']);
    const lost = new RuntimeLostError('the connection ended');
    at('a').runtime.loseAnswer('create');
    // The undo asks twice.
    at('a').runtime.fail('get', lost);
    const failed = create();
    await expect(failed).rejects.toMatchObject({ status: 504 });
    at('a').down();
    at('a').up();
    await expect.poll(states).toEqual({ a: 'ready' });
    expect(at('a').runtime.instances.size).toBe(0);
  });

  it('are forgotten with all that is on them, and not while they answer', async () => {
    await start(['a', 'b']);
    const [near, far] = [await create(), await create()];
    await expect(nodes.forget('b', plane.abandonNode)).rejects.toMatchObject({ status: 409 });
    at('b').down();
    await nodes.forget('b', plane.abandonNode);
    expect(await states()).toEqual({ a: 'ready' });
    expect([await stateOf(near), await stateOf(far)]).toEqual(['running', 'ended']);
    await expect(nodes.forget('b', plane.abandonNode)).rejects.toMatchObject({ status: 404 });
  });

  it('name themselves in the error of a call that their loss interrupts', async () => {
    await start(['a']);
    const id = await create();
    at('a').runtime.fail('pause', new RuntimeLostError('the connection ended'));
    await expect(plane.pausing.pause(id, 'filesystem')).rejects.toMatchObject({ status: 503 });
    at('a').runtime.fail('get', new RuntimeLostError('the connection ended'));
    await expect(nodes.runtime.get(id)).rejects.toMatchObject({ message: 'node "a" cannot be reached' });
  });
});
