import { Readable } from 'node:stream';
import { RuntimeError } from '@skerry/runtime';
import { describe, expect, it } from 'vitest';
import { deadMs, useFleet } from '../hosts/testing/fleet-fixture.ts';

const fleet = useFleet({ hasCopies: true });
const { start, stop, at, create, nodeOf, stateOf, states } = fleet;

/** A paused sandbox on node b. */
const pauseOnB = async (): Promise<string> => {
  await fleet.hosts.nodes.setCordoned('a', true);
  const id = await create();
  await fleet.hosts.nodes.setCordoned('a', false);
  await fleet.plane.pauser.pause(id, 'memory');
  expect(await nodeOf(id)).toBe('b');
  return id;
};
const hasBlobCopy = async (id: string): Promise<boolean> => {
  const row = await fleet.store.findSandbox(id);
  return row !== undefined && (await fleet.plane.copier?.find(row)) !== undefined;
};
const connect = (id: string) => fleet.plane.resumer.connect(id, { timeoutMs: 100_000, memory: true });
const logged = (message: string): number =>
  fleet.lines.filter((line) => line.message.includes(message)).length;

describe('a paused sandbox', () => {
  it('is stored behind the pause, and its copy is removed when it runs or is killed', async () => {
    await start(['a', 'b']);
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    expect(at('b').runtime.snapshotIds.size).toBe(0);
    expect(logged('a paused sandbox is in the blob store')).toBe(1);
    await connect(id);
    expect(await nodeOf(id)).toBe('b');
    await expect.poll(() => fleet.copies.ids.size).toBe(0);
    await fleet.plane.pauser.pause(id, 'memory');
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    await fleet.plane.lifecycle.kill(id);
    await expect.poll(() => fleet.copies.ids.size).toBe(0);
  });

  it('is paused without the blob store too, which the log and the answers say, and stored later', async () => {
    await start(['a', 'b']);
    fleet.copies.problem = new Error('the bucket is gone');
    const id = await pauseOnB();
    expect(await stateOf(id)).toBe('paused');
    await expect.poll(() => fleet.plane.copier?.problemOf(id)).toBe('the bucket is gone');
    expect(logged('is not in the blob store, and on its node only')).toBe(1);
    expect(at('b').runtime.snapshotIds.size).toBe(0);
    at('b').down();
    await expect(connect(id)).rejects.toMatchObject({ message: 'node "b" cannot be reached' });
    fleet.manual.advance(deadMs);
    await expect.poll(states).toEqual({ a: 'ready', b: 'lost' });
    await expect(connect(id)).rejects.toMatchObject({ node: 'b' });
    expect(await stateOf(id)).toBe('paused');
    fleet.copies.problem = undefined;
    at('b').up();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    expect(fleet.plane.copier?.problemOf(id)).toBeUndefined();
  });

  it('resumes on another node when its own does not answer, and is stopped there when that is back', async () => {
    await start(['a', 'b']);
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    at('b').down();
    const { wasPaused } = await connect(id);
    expect(wasPaused).toBe(true);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['running', 'a']);
    expect(at('a').runtime.instances.has(id)).toBe(true);
    expect(at('a').runtime.snapshotIds.size).toBe(0);
    expect(await fleet.plane.directory.find(id)).toBeDefined();
    fleet.manual.advance(deadMs);
    await expect.poll(states).toEqual({ a: 'ready', b: 'lost' });
    expect(await stateOf(id)).toBe('running');
    expect(at('b').runtime.instances.has(id)).toBe(true);
    at('b').up();
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    expect(at('b').runtime.instances.has(id)).toBe(false);
    expect([await stateOf(id), at('a').runtime.instances.has(id)]).toEqual(['running', true]);
    await expect.poll(() => fleet.copies.ids.size).toBe(0);
  });

  it('stays paused, with 503, while the blob store cannot be read', async () => {
    await start(['a', 'b']);
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    at('b').down();
    fleet.copies.problem = new RuntimeError('unavailable', 'the bucket does not answer');
    const message = 'what it begins with cannot be read from the blob store now';
    await expect(connect(id)).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining(message),
    });
    expect(await stateOf(id)).toBe('paused');
    fleet.copies.problem = undefined;
    await connect(id);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['running', 'a']);
  });

  it('resumes elsewhere when its node lacks its files, and is not lost for that', async () => {
    await start(['a', 'b']);
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    await at('b').runtime.vanish(id);
    await fleet.plane.nodeEvents.settle('b');
    expect(await stateOf(id)).toBe('paused');
    await connect(id);
    expect(await stateOf(id)).toBe('running');
  });

  it('is refused with the difference by a node of another class, stays paused, and resumes where it was', async () => {
    await start(['a', 'b']);
    fleet.copies.kernels.set('a', '6.12');
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    at('b').down();
    await expect(connect(id)).rejects.toMatchObject({
      status: 503,
      message: expect.stringMatching(
        /on node "b".*a: the kernel was 6\.1 and is 6\.12 here.* a has refused it, b cannot be reached/,
      ),
    });
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['paused', 'b']);
    expect(at('a').runtime.instances.size + at('a').runtime.snapshotIds.size).toBe(0);
    at('b').up();
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    await connect(id);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['running', 'b']);
  });

  it('is stored by the next server when one ends in the middle', async () => {
    await start(['a', 'b']);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    fleet.copies.held = held;
    const id = await pauseOnB();
    await expect.poll(() => at('b').runtime.snapshotIds.size).toBe(1);
    const stopped = stop();
    release();
    await stopped;
    fleet.copies.held = undefined;
    expect(await hasBlobCopy(id)).toBe(false);
    await start(['a', 'b']);
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    expect(fleet.copies.ids.size).toBe(1);
    expect(at('b').runtime.snapshotIds.size).toBe(0);
  });

  it('outlives its node that is forgotten', async () => {
    await start(['a', 'b']);
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    at('b').down();
    await fleet.hosts.nodes.forget('b', fleet.plane.nodeEvents.abandon);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['paused', null]);
    await connect(id);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['running', 'a']);
  });

  it('stays paused, with 503, when no node has it and the blob store has no whole copy', async () => {
    await start(['a', 'b']);
    fleet.copies.problem = new RuntimeError('unavailable', 'the bucket does not answer');
    const id = await pauseOnB();
    await fleet.store.changeState(id, { from: ['paused'], to: 'paused', set: { node: null } });
    await expect(connect(id)).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('the blob store has no whole copy'),
    });
    expect(await stateOf(id)).toBe('paused');
  });
});

describe('a snapshot', () => {
  it('is stored when it is made, begins sandboxes on another node when its own is gone, and is there then', async () => {
    await start(['a', 'b']);
    const source = await pauseOnB();
    const request = { kind: 'filesystem', name: null, tag: 'default' } as const;
    const { id } = await fleet.plane.snapshotter.create(source, request);
    const stored = () => fleet.store.findBlobCopy({ snapshotId: id });
    await expect.poll(stored).toBeDefined();
    const copy = (await stored())?.id ?? '';
    expect(copy).not.toBe(id);
    expect(at('b').runtime.snapshotIds.has(id)).toBe(true);
    at('b').down();
    const made = await Promise.all([create({ snapshot: id }), create({ snapshot: id })]);
    expect(await Promise.all(made.map(nodeOf))).toEqual(['a', 'a']);
    expect((await fleet.store.findSnapshotRow(id))?.node).toBe('a');
    at('b').up();
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    await expect.poll(() => at('b').runtime.snapshotIds.has(id)).toBe(false);
    expect(at('a').runtime.snapshotIds.has(id)).toBe(true);
    for (const one of made) await fleet.plane.lifecycle.kill(one);
    const { templateId } = (await fleet.store.findTagOf(id)) ?? { templateId: '' };
    await fleet.plane.snapshotter.delete({ templateId });
    await fleet.plane.nodeEvents.settle('a');
    await expect.poll(() => [...fleet.copies.ids].includes(copy)).toBe(false);
  });
});

describe('a drain', () => {
  it('moves running sandboxes, leaves paused ones in the blob store, and says what it cannot move', async () => {
    await start(['a', 'b']);
    fleet.copies.problem = new Error('the bucket is gone');
    const paused = await pauseOnB();
    await fleet.hosts.nodes.setCordoned('a', true);
    const running = await create();
    await fleet.hosts.nodes.setCordoned('a', false);
    const { drainer } = fleet.plane;
    await fleet.hosts.nodes.setCordoned('b', true);
    const all = [paused, running];
    expect(drainer?.advance('b', all)).toBe(true);
    await expect.poll(() => drainer?.advance('b', all)).toBe(false);
    for (const id of [paused, running]) expect(drainer?.problemOf(id)).toBe('the bucket is gone');
    expect([await stateOf(running), await nodeOf(running)]).toEqual(['running', 'b']);
    fleet.copies.problem = undefined;
    fleet.manual.advance(10_000);
    expect(drainer?.advance('b', all)).toBe(true);
    await expect.poll(() => drainer?.isBusyOn('b')).toBe(false);
    expect([await stateOf(running), await nodeOf(running)]).toEqual(['running', 'a']);
    expect([await stateOf(paused), await nodeOf(paused)]).toEqual(['paused', null]);
    expect(drainer?.problemOf(running)).toBeUndefined();
    await fleet.plane.nodeEvents.settle('b');
    expect(at('b').runtime.instances.size).toBe(0);
    await connect(paused);
    expect(await nodeOf(paused)).toBe('a');
  });

  it('begins at once again with what has come back', async () => {
    await start(['a', 'b']);
    const { drainer } = fleet.plane;
    const id = await create();
    const nodes = [(await nodeOf(id)) ?? ''];
    for (let move = 0; move < 4; move += 1) {
      const from = nodes.at(-1) ?? '';
      await fleet.hosts.nodes.setCordoned(from, true);
      expect(drainer?.advance(from, [id])).toBe(true);
      await expect.poll(() => drainer?.isBusyOn(from)).toBe(false);
      await fleet.hosts.nodes.setCordoned(from, false);
      nodes.push((await nodeOf(id)) ?? '');
    }
    const [first = '', second = ''] = nodes;
    expect([first, second].toSorted()).toEqual(['a', 'b']);
    expect(nodes).toEqual([first, second, first, second, first]);
  });

  it('leaves snapshots in the blob store, from where sandboxes begin with them on another node', async () => {
    await start(['a', 'b']);
    const source = await pauseOnB();
    const request = { kind: 'filesystem', name: null, tag: 'default' } as const;
    const { id } = await fleet.plane.snapshotter.create(source, request);
    const homeOf = async () => (await fleet.store.findSnapshotRow(id))?.node;
    expect(await homeOf()).toBe('b');
    await fleet.hosts.nodes.setCordoned('b', true);
    const { drainer } = fleet.plane;
    expect(drainer?.advance('b', [])).toBe(true);
    await expect.poll(() => drainer?.advance('b', [])).toBe(false);
    expect(await homeOf()).toBeNull();
    expect(at('b').runtime.snapshotIds.size).toBe(0);
    await expect(fleet.plane.inspector.verify(id)).rejects.toMatchObject({ status: 503 });
    expect(await nodeOf(await create({ snapshot: id }))).toBe('a');
    expect([await homeOf(), at('a').runtime.snapshotIds.has(id)]).toEqual(['a', true]);
  });
});

describe('the blob store', () => {
  it('is cleared at the start of what no record names, and of nothing else', async () => {
    const signal = AbortSignal.timeout(5_000);
    await fleet.copies.blobs.writeImage('stray', { body: Readable.from([Buffer.from('x')]), signal });
    await start(['a', 'b']);
    const id = await pauseOnB();
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    const listIds = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const found of fleet.copies.blobs.listIds({ signal })) ids.push(found);
      return ids;
    };
    await expect.poll(listIds).toEqual(await fleet.store.listBlobCopyIds());
    expect(await hasBlobCopy(id)).toBe(true);
  });
});
