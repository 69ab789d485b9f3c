import { RuntimeError, RuntimeLostError } from '@skerry/runtime';
import { describe, expect, it } from 'vitest';
import { deadMs, useFleet } from './testing/fleet-fixture.ts';

const fleet = useFleet();
const { start, stop, at, create, nodeOf, stateOf, states } = fleet;

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

  it('get a new sandbox without a look at the row that its create has written', async () => {
    const { store } = fleet;
    const looks: string[] = [];
    fleet.store = {
      ...store,
      findSandbox: (id) => {
        looks.push(id);
        return store.findSandbox(id);
      },
    };
    await start(['a', 'b']);
    at('a').runtime.fail('create', new RuntimeError('exhausted', 'no slot'));
    const id = await create();
    expect(looks).toEqual([]);
    expect([await nodeOf(id), looks]).toEqual(['b', [id]]);
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
    const { id } = await fleet.plane.snapshotter.create(source, {
      kind: 'filesystem',
      name: null,
      tag: 'default',
    });
    expect(await nodeOf(await create({ snapshot: id }))).toBe('b');
    await expect(create({ snapshot: id })).rejects.toMatchObject({
      message: 'what the sandbox begins with is on node "b" only: b is full',
    });
    const [copy] = await fleet.plane.forker.fork(source, {
      ...{ kind: 'memory', count: 1, timeoutMs: 1_000, keyId: null },
    });
    expect(copy).toMatchObject({ status: 'rejected', reason: { status: 503 } });
  });

  it('lose what runs when one does not answer for too long, and nothing before or that is paused', async () => {
    await start(['a', 'b']);
    const [near, far] = [await create(), await create()];
    const paused = await (async () => {
      await fleet.plane.lifecycle.kill(near);
      await fleet.hosts.nodes.setCordoned('a', true);
      const id = await create();
      await fleet.hosts.nodes.setCordoned('a', false);
      await fleet.plane.pauser.pause(id, 'filesystem');
      return id;
    })();
    expect([await nodeOf(far), await nodeOf(paused)]).toEqual(['b', 'b']);
    at('b').down();
    expect(await states()).toEqual({ a: 'ready', b: 'unreachable' });
    fleet.manual.advance(deadMs - 1);
    await expect(fleet.plane.resumer.connect(paused, { timeoutMs: 1, memory: true })).rejects.toMatchObject({
      node: 'b',
      message: 'node "b" cannot be reached',
    });
    expect([await stateOf(far), await stateOf(paused)]).toEqual(['running', 'paused']);
    expect(await fleet.plane.directory.find(far)).toBeDefined();
    fleet.manual.advance(1);
    await expect.poll(() => stateOf(far)).toBe('killing');
    expect(await fleet.store.findSandbox(far)).toMatchObject({ cause: 'lost' });
    expect(await fleet.plane.directory.find(far)).toBeUndefined();
    expect(await states()).toEqual({ a: 'ready', b: 'lost' });
    expect(await nodeOf(await create())).toBe('a');

    expect(at('b').runtime.instances.has(far)).toBe(true);
    at('b').up();
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    expect(at('b').runtime.instances.has(far)).toBe(false);
    expect([await stateOf(far), await stateOf(paused)]).toEqual(['ended', 'paused']);
    await fleet.plane.resumer.connect(paused, { timeoutMs: 1_000, memory: true });
    expect(await stateOf(paused)).toBe('running');
  });

  it('keep what runs on them while they refuse this server for its version, and lose it when they are silent after that', async () => {
    await start(['a', 'b']);
    const [, far] = [await create(), await create()];
    const refusal = new RuntimeError('unsupported', 'the node has version 5 of the protocol of nodes');
    at('b').down();
    at('b').down(refusal);
    fleet.manual.advance(2 * deadMs);
    at('b').down(refusal);
    const [, view] = await fleet.hosts.nodes.list();
    expect(view).toMatchObject({ state: 'unreachable', problem: refusal.message });
    expect(await stateOf(far)).toBe('running');
    at('b').down();
    fleet.manual.advance(deadMs - 1);
    expect(await stateOf(far)).toBe('running');
    fleet.manual.advance(1);
    await expect.poll(() => stateOf(far)).toBe('killing');
  });

  it('take no work after their return until what was lost there is stopped', async () => {
    await start(['a', 'b']);
    await create();
    const [lost, paused] = [await create(), await create().then(() => create())];
    expect([await nodeOf(lost), await nodeOf(paused)]).toEqual(['b', 'b']);
    await fleet.plane.pauser.pause(paused, 'filesystem');
    at('b').down();
    fleet.manual.advance(deadMs);
    await expect.poll(() => stateOf(lost)).toBe('killing');
    at('b').runtime.fail('stop', new RuntimeError('internal', 'not now'));
    at('b').up();
    await expect.poll(() => at('b').runtime.log.includes(`stop ${lost}`)).toBe(true);
    await expect(
      fleet.plane.resumer.connect(paused, { timeoutMs: 1_000, memory: true }),
    ).rejects.toMatchObject({
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
    await fleet.plane.resumer.connect(paused, { timeoutMs: 1_000, memory: true });
  });

  it('are claimed with a higher epoch by each server, which finds their sandboxes when they answer', async () => {
    await start(['a', 'b']);
    const [first, second] = [await create(), await create()];
    await stop();
    await start(['a', 'b'], ['a']);
    expect([at('a').epoch, at('b').epoch]).toEqual([2, 2]);
    expect(await fleet.plane.directory.find(first)).toBeDefined();
    expect(await fleet.plane.directory.find(second)).toBeUndefined();
    expect(await stateOf(second)).toBe('running');
    at('b').up();
    await expect.poll(() => fleet.plane.directory.find(second)).toBeDefined();
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
    await expect(fleet.hosts.nodes.forget('b', fleet.plane.nodeEvents.abandon)).rejects.toMatchObject({
      status: 409,
    });
    at('b').down();
    await fleet.hosts.nodes.forget('b', fleet.plane.nodeEvents.abandon);
    expect(await states()).toEqual({ a: 'ready' });
    expect([await stateOf(near), await stateOf(far)]).toEqual(['running', 'ended']);
    await expect(fleet.hosts.nodes.forget('b', fleet.plane.nodeEvents.abandon)).rejects.toMatchObject({
      status: 404,
    });
  });

  it('name themselves in the error of a call that their loss interrupts', async () => {
    await start(['a']);
    const id = await create();
    at('a').runtime.fail('pause', new RuntimeLostError('the connection ended'));
    await expect(fleet.plane.pauser.pause(id, 'filesystem')).rejects.toMatchObject({ status: 503 });
    at('a').runtime.fail('get', new RuntimeLostError('the connection ended'));
    const { node = null } = (await fleet.store.findSandbox(id)) ?? {};
    await expect(fleet.hosts.of(node).runtime.get(id)).rejects.toMatchObject({
      message: 'node "a" cannot be reached',
    });
  });
});
