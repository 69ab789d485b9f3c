import { describe, expect, it } from 'vitest';
import { deadMs, useFleet } from '../testing/fleet-fixture.ts';
import { createManualMembership } from '../testing/manual-membership.ts';

const fleet = useFleet();
const { start, stop, at, create, nodeOf, stateOf, states } = fleet;
const all = ['a', 'b'];
const toNode = (name: string, port = 1) => ({ name, address: `${name}:${port}` });

describe('nodes that come and go while a server runs', () => {
  it('are claimed and take sandboxes when they appear', async () => {
    const membership = createManualMembership();
    await start(all, all, membership);
    await expect(create()).rejects.toMatchObject({ status: 503 });
    membership.put(toNode('a'));
    await expect.poll(states).toEqual({ a: 'ready' });
    expect(await nodeOf(await create())).toBe('a');
    membership.put(toNode('b'));
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    expect(await nodeOf(await create())).toBe('b');
  });

  it('are those of the last server at the start of the next one', async () => {
    const first = createManualMembership();
    await start(all, all, first);
    first.put(toNode('a'));
    await expect.poll(states).toEqual({ a: 'ready' });
    const id = await create();
    await stop();
    await start(all, all, createManualMembership());
    expect(await states()).toEqual({ a: 'ready' });
    expect(await stateOf(id)).toBe('running');
  });

  it('keep their sandboxes when they move to another address', async () => {
    const membership = createManualMembership();
    await start(all, all, membership);
    membership.put(toNode('a'));
    await expect.poll(states).toEqual({ a: 'ready' });
    const id = await create();
    const { epoch } = at('a');
    membership.put(toNode('a', 2));
    await expect.poll(() => at('a').address).toBe('a:2');
    expect(at('a').epoch).toBe(epoch + 1);
    await expect.poll(states).toEqual({ a: 'ready' });
    expect(await stateOf(id)).toBe('running');
    await fleet.plane.lifecycle.kill(id);
    await expect.poll(() => at('a').runtime.instances.size).toBe(0);
  });

  it('are lost only when the connection ends for too long, whatever lists them', async () => {
    const membership = createManualMembership();
    await start(all, all, membership);
    membership.put(toNode('a'));
    await expect.poll(states).toEqual({ a: 'ready' });
    const id = await create();
    membership.forget('a');
    fleet.manual.advance(2 * deadMs);
    expect(await stateOf(id)).toBe('running');
    at('a').down();
    fleet.manual.advance(deadMs - 1);
    expect(await stateOf(id)).toBe('running');
    fleet.manual.advance(1);
    await expect.poll(() => stateOf(id)).not.toBe('running');
  });

  it('get nothing new while the cluster has cordoned them, beside the cordon of skerry', async () => {
    const membership = createManualMembership();
    await start(all, all, membership);
    for (const name of all) membership.put(toNode(name));
    await expect.poll(states).toEqual({ a: 'ready', b: 'ready' });
    const id = await create();
    expect(await nodeOf(id)).toBe('a');
    membership.setCordoned('b', true);
    expect(await nodeOf(await create())).toBe('a');
    membership.setCordoned('a', true);
    await expect(create()).rejects.toMatchObject({
      message: 'no node can take the sandbox now: a is cordoned by the cluster, b is cordoned by the cluster',
    });
    expect(await stateOf(id)).toBe('running');
    const views = await fleet.hosts.nodes.list();
    expect(views.map(({ cordoned, unschedulable }) => [cordoned, unschedulable])).toEqual([
      [false, true],
      [false, true],
    ]);
    await fleet.hosts.nodes.setCordoned('b', true);
    membership.setCordoned('b', false);
    await expect(create()).rejects.toMatchObject({
      message: 'no node can take the sandbox now: a is cordoned by the cluster, b is cordoned',
    });
    await fleet.hosts.nodes.setCordoned('b', false);
    expect(await nodeOf(await create())).toBe('b');
  });
});
