import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeDescription } from '@skerry/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRandomIds } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { type ControlPlane, createControlPlane } from '../sandboxes/control-plane.ts';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { createFaultyRuntime, type FaultyRuntime } from '../testing/faulty-runtime.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { ElsewhereError } from './elsewhere.ts';
import { baseOfNode } from './fleet-runtime.ts';
import type { ConnectNode } from './member.ts';
import type { Membership } from './membership/membership.ts';
import { createStaticMembership } from './membership/static.ts';
import { createNodes, type Nodes } from './nodes.ts';
import { createImagesInMemory } from './testing/images-in-memory.ts';
import { createManualMembership } from './testing/manual-membership.ts';

const template = { id: 't1', name: 'base', kind: 'image' as const, public: false };
const size = { createdAt: 0, cpuCount: 1, memoryMb: 128, diskMb: 1 };
const leaseMs = 6_000;
const names = ['a', 'b'];

const description: NodeDescription = {
  version: '1',
  base: { rootfs: '/', digest: 'sha256:1' },
  templatesFolder: '/templates',
  room: { sandboxes: 4, memoryBytes: 2 ** 30, cpuCount: 1 },
  usedMemoryBytes: 0,
};

/** One of several servers, in this process. */
interface Server {
  owner: string;
  nodes: Nodes;
  plane: ControlPlane;
  /** Its clock; the others go on while it does not. */
  manual: ReturnType<typeof createManualClock>;
  /** The epochs with which it has claimed nodes. */
  claims: Record<string, number>;
  /** The streams that it has opened to nodes of others. */
  doors: string[];
}

let folder: string;
let store: Store;
let databaseNow: number;
const servers: Server[] = [];
const runtimes = new Map<string, FaultyRuntime>();
/** By node, the highest epoch that has claimed it. */
let epochs: Record<string, number>;

const runtimeOf = (name: string): FaultyRuntime => {
  const runtime =
    runtimes.get(name) ??
    createFaultyRuntime({ dataDir: join(folder, name), pause: { memory: true, filesystem: true } });
  runtimes.set(name, runtime);
  return runtime;
};

const toList = (): Membership =>
  createStaticMembership(names.map((name) => ({ name, address: `${name}:1` })));

const start = async (owner: string, membership = toList(), limits: Partial<Limits> = {}): Promise<Server> => {
  const manual = createManualClock();
  const { log } = createRecordingLog();
  const claims: Record<string, number> = {};
  const doors: string[] = [];
  const connect: ConnectNode = ({ name, epoch }, { onAnswer, onFailure }) => {
    claims[name] = epoch;
    const isRefused = epoch < (epochs[name] ?? 0);
    epochs[name] = Math.max(epoch, epochs[name] ?? 0);
    queueMicrotask(() => (isRefused ? onFailure(new Error('refused')) : onAnswer(description)));
    const images = createImagesInMemory(join(folder, name), new Map());
    return { runtime: runtimeOf(name), images, close: async () => {} };
  };
  const fenced = store.ownedBy(owner);
  const nodes = createNodes({
    ...{ membership, connect, store: fenced, clock: manual.clock, log, deadMs: 60_000 },
    replica: {
      ...{ owner, address: `${owner}:1`, leaseMs },
      openDoor: async ({ name }, { instance }, port) => {
        doors.push(name);
        return (await runtimeOf(name).get(instance)).connect(port);
      },
      imagesAt: () => createImagesInMemory(folder, new Map()),
    },
  });
  const plane = createControlPlane({
    ...{ store: fenced, nodes, runtime: nodes.runtime, clock: manual.clock, log },
    ...{
      secret: 'secret',
      limits: { ...defaultLimits, ...limits },
      images: { base: { rootfs: baseOfNode } },
    },
    ids: createRandomIds(),
  });
  await plane.start({ ...template, ...size });
  await nodes.start({
    ...{ settle: plane.settleNode, lose: plane.loseNode, isIdle: plane.isIdleOn },
    ...{ leave: plane.leaveNode, check: plane.checkRoutes, onCordon: plane.adjustWarm },
  });
  const server = { owner, nodes, plane, manual, claims, doors };
  servers.push(server);
  return server;
};

const stop = async (server: Server): Promise<void> => {
  servers.splice(servers.indexOf(server), 1);
  await server.plane.close();
  await server.nodes.close();
};
const owned = ({ nodes }: Server): string[] => names.filter((name) => nodes.owns(name));
/** Passes time for the database and these servers, until they own those nodes. */
const pass = async (of: Server[], expected: string[][]): Promise<void> => {
  await expect
    .poll(async () => {
      databaseNow += leaseMs / 3;
      for (const { manual } of of) manual.advance(leaseMs / 3);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return of.map(owned);
    })
    .toEqual(expected);
};
const create = ({ plane }: Server, more: { isForwarded?: boolean } = {}) =>
  plane.lifecycle.create({
    template: { ...template, ...size },
    ...{ snapshot: null, build: null, timeoutMs: 3_600_000, metadata: {}, envVars: {}, secure: true },
    ...{ allowInternet: null, autoPause: null, ...more },
  });
const stateOf = async (id: string) => (await store.findSandbox(id))?.state;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skerry-replicas-'));
  databaseNow = 1_000_000;
  epochs = {};
  store = await createStore({ path: join(folder, 'skerry.db'), now: () => databaseNow });
});
afterEach(async () => {
  for (const server of [...servers]) await stop(server);
  for (const runtime of runtimes.values()) await runtime.close();
  runtimes.clear();
  await store.close();
  await rm(folder, { recursive: true });
});

describe('several servers', () => {
  it('share nodes that appear, and the owner of one that moves claims it at its new address', async () => {
    const memberships = [createManualMembership(), createManualMembership()] as const;
    const put = (name: string, port: number): void => {
      for (const one of memberships) one.put({ name, address: `${name}:${port}` });
    };
    const first = await start('one', memberships[0]);
    const second = await start('two', memberships[1]);
    expect(owned(first)).toEqual([]);
    put('a', 1);
    await pass([first, second], [['a'], []]);
    put('b', 1);
    await pass([first, second], [['a'], ['b']]);
    const before = epochs.a ?? 0;
    put('a', 2);
    await expect.poll(() => first.claims.a).toBe(before + 1);
    expect(second.claims.a).toBeUndefined();
    await expect
      .poll(async () => (await store.listNodes()).map(({ address }) => address))
      .toEqual(['a:2', 'b:1']);
  });

  it('share the nodes, and take them all from one that stops', async () => {
    const one = await start('one');
    expect(owned(one)).toEqual(['a', 'b']);
    const two = await start('two');
    expect(owned(two)).toEqual([]);
    await pass([one, two], [['a'], ['b']]);
    expect(two.claims).toEqual({ b: 2 });
    expect([one.nodes.isBuilder, two.nodes.isBuilder]).toEqual([true, false]);
    await stop(one);
    await pass([two], [['a', 'b']]);
    expect(two.nodes.isBuilder).toBe(true);
  });

  it('take over the sandboxes of one that is killed when its leases expire, and undo what it left half done', async () => {
    const one = await start('one');
    const kept = await create(one);
    await store.reserveSandbox(
      { ...kept, id: 'halfdone', metadata: {} },
      { maxActive: 9, place: { node: 'a', maxActive: 9 } },
    );
    const two = await start('two');
    expect(await two.plane.directory.find(kept.id)).toMatchObject({ runId: kept.runId });
    // It is not closed: its leases stay until they expire.
    await pass([two], [['a', 'b']]);
    await expect
      .poll(async () => (await two.nodes.list()).map(({ state }) => state))
      .toEqual(['ready', 'ready']);
    await expect.poll(() => stateOf('halfdone')).toBe('ended');
    expect(await stateOf(kept.id)).toBe('running');
    await two.plane.lifecycle.kill(kept.id);
    expect(await stateOf(kept.id)).toBe('ended');
  });

  it('refuse one that wakes up after its leases, which then acts for nothing and routes through doors', async () => {
    const one = await start('one');
    const two = await start('two');
    await pass([one, two], [['a'], ['b']]);
    const { id, runId } = await create(one, { isForwarded: true });
    await pass([two], [['a', 'b']]);
    // The first has not noticed yet.
    expect(owned(one)).toEqual(['a']);
    const refused = { code: 'unavailable' };
    await expect(one.plane.lifecycle.kill(id)).rejects.toMatchObject(refused);
    await expect(one.plane.pausing.pause(id, 'filesystem')).rejects.toMatchObject(refused);
    await expect(create(one, { isForwarded: true })).rejects.toMatchObject(refused);
    expect(await stateOf(id)).toBe('running');
    one.manual.advance(leaseMs / 3);
    await expect.poll(() => owned(one)).toEqual([]);
    const route = await one.plane.directory.find(id);
    expect(route?.runId).toBe(runId);
    const ends: string[] = [];
    one.plane.directory.onEnd((...ended) => ends.push(ended.join(' ')));
    await two.plane.lifecycle.kill(id);
    expect(await one.plane.directory.find(id)).toBeUndefined();
    one.manual.advance(leaseMs / 3);
    await expect.poll(() => ends).toEqual([`${id} ${runId}`]);
  });

  it('place a sandbox on the best node of all, once: where it was sent it stays', async () => {
    const one = await start('one');
    const two = await start('two');
    await pass([one, two], [['a'], ['b']]);
    // Each round records what the nodes are.
    await expect
      .poll(async () => {
        two.manual.advance(leaseMs / 3);
        return (await one.nodes.list()).map(({ state }) => state);
      })
      .toEqual(['ready', 'ready']);
    const first = await create(one);
    expect(first.node).toBe('a');
    const elsewhere = await create(one).catch((error: unknown) => error);
    expect(elsewhere).toBeInstanceOf(ElsewhereError);
    expect(elsewhere).toMatchObject({ address: 'two:1' });
    expect(await create(two, { isForwarded: true })).toMatchObject({ node: 'b' });
    expect(await one.nodes.serverOf('b')).toBe('two:1');
    expect(await one.nodes.serverOf('a')).toBeUndefined();
    await two.nodes.setCordoned('a', true);
    await expect(create(one, { isForwarded: true })).rejects.toMatchObject({
      message: 'no node can take the sandbox now: a is cordoned',
    });
  });

  it('say so while a node has no owner, and reach its sandboxes meanwhile', async () => {
    const one = await start('one');
    const { id, node } = await create(one);
    const two = await start('two');
    databaseNow += leaseMs;
    await expect(two.nodes.serverOf(node)).rejects.toMatchObject({
      code: 'unavailable',
      message: `no server has taken over node "${node}" yet: try again in a moment`,
    });
    const route = await two.plane.directory.find(id);
    const stream = await route?.connect(49_983);
    expect(two.doors).toEqual([node]);
    stream?.destroy();
  });

  it('start sandboxes in advance on their own nodes, and take over what waits with the node', async () => {
    const limits = { warmMin: 1, warmMax: 1 };
    const one = await start('one', toList(), limits);
    const two = await start('two', toList(), limits);
    await pass([one, two], [['a'], ['b']]);
    const waiting = async () =>
      (await store.listWarm()).filter(({ id, node }) => runtimeOf(node ?? '').instances.has(id));
    await expect
      .poll(async () => (await waiting()).map(({ node }) => node ?? '').toSorted())
      .toEqual(['a', 'b']);
    const before = await waiting();
    await stop(two);
    await pass([one], [['a', 'b']]);
    await expect
      .poll(async () => (await one.nodes.list()).map(({ state }) => state))
      .toEqual(['ready', 'ready']);
    expect(await waiting()).toEqual(before);
    const made = [(await create(one)).id, (await create(one)).id];
    expect(made.toSorted()).toEqual(before.map(({ id }) => id).toSorted());
  });
});
