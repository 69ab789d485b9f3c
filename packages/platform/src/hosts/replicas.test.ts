import { RuntimeError } from '@skerry/runtime';
import { describe, expect, it } from 'vitest';
import { toTrafficToken } from '../tokens.ts';
import { ElsewhereError } from './elsewhere.ts';
import { createManualMembership } from './testing/manual-membership.ts';
import { leaseMs, useServers } from './testing/servers-fixture.ts';

const servers = useServers();
const { start, stop, owned, pass, create, stateOf } = servers;

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
    const before = servers.epochOf('a');
    put('a', 2);
    await expect.poll(() => first.claims.a).toBe(before + 1);
    expect(second.claims.a).toBeUndefined();
    await expect
      .poll(async () => (await servers.store.listNodes()).map(({ address }) => address))
      .toEqual(['a:2', 'b:1']);
  });

  it('share the nodes, and take them all from one that stops', async () => {
    const one = await start('one');
    expect(owned(one)).toEqual(['a', 'b']);
    const two = await start('two');
    expect(owned(two)).toEqual([]);
    await pass([one, two], [['a'], ['b']]);
    expect(two.claims).toEqual({ b: 2 });
    expect([one.hosts.owned, two.hosts.owned]).toEqual([['a'], ['b']]);
    expect([one.hosts.isBuilder, two.hosts.isBuilder]).toEqual([true, false]);
    await stop(one);
    await pass([two], [['a', 'b']]);
    expect(two.hosts.isBuilder).toBe(true);
  });

  it('take over the sandboxes of one that is killed when its leases expire, and undo what it left half done', async () => {
    const one = await start('one');
    const kept = await create(one);
    await servers.store.reserveSandbox(
      { ...kept, id: 'halfdone', metadata: {} },
      { maxActive: 9, place: { node: 'a', maxActive: 9 } },
    );
    const two = await start('two');
    expect(await two.plane.directory.find(kept.id)).toMatchObject({ runId: kept.runId });
    // The first server is not closed: its leases stay until they expire.
    await pass([two], [['a', 'b']]);
    await expect
      .poll(async () => (await two.hosts.nodes.list()).map(({ state }) => state))
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
    const { id, runId } = await create(one, { isForwarded: true, ingress: { isPrivate: true } });
    await pass([two], [['a', 'b']]);
    // The first has not noticed yet.
    expect(owned(one)).toEqual(['a']);
    const refused = { code: 'unavailable' };
    await expect(one.plane.lifecycle.kill(id)).rejects.toMatchObject(refused);
    await expect(one.plane.pauser.pause(id, 'filesystem')).rejects.toMatchObject(refused);
    await expect(create(one, { isForwarded: true })).rejects.toMatchObject(refused);
    expect(await stateOf(id)).toBe('running');
    one.manual.advance(leaseMs / 3);
    await expect.poll(() => owned(one)).toEqual([]);
    const route = await one.plane.directory.find(id);
    expect(route?.runId).toBe(runId);
    expect(route?.ports).toEqual({ trafficToken: toTrafficToken('secret', id) });
    const ends: string[] = [];
    one.plane.directory.onEnd((...ended) => ends.push(ended.join(' ')));
    await two.plane.lifecycle.kill(id);
    expect(await one.plane.directory.find(id)).toBeUndefined();
    one.manual.advance(leaseMs / 3);
    await expect.poll(() => ends).toEqual([`${id} ${runId}`]);
  });

  it('wake a sandbox that another one owns, once, for what either is asked, and agree about one that cannot start', async () => {
    const one = await start('one');
    const two = await start('two');
    await pass([one, two], [['a'], ['b']]);
    const { id } = await create(one, { isForwarded: true, autoResume: true });
    await one.plane.pauser.pause(id, 'memory');
    const runtime = servers.runtimeOf('a');
    runtime.fail('resume', new RuntimeError('internal', 'it broke'));
    const { signal } = new AbortController();
    const wakeAt = async ({ plane }: typeof one) => (await plane.directory.findDormant(id))?.wake(signal);
    const refused = { code: 'internal', headers: { 'Retry-After': '1' } };
    await expect(wakeAt(two)).rejects.toMatchObject(refused);
    await expect(wakeAt(one)).rejects.toMatchObject(refused);
    const { startedAt = 0 } = (await servers.store.findSandbox(id)) ?? {};
    for (const { plane } of [one, two])
      expect(plane.waker.problemOf({ id, startedAt })).toContain('1 attempt');
    for (const { manual } of [one, two]) manual.advance(1_000);
    await Promise.all([one, two, two].map(wakeAt));
    expect(runtime.log.filter((line) => line.startsWith('resume '))).toHaveLength(2);
    const { runId } = (await servers.store.findSandbox(id)) ?? {};
    for (const { plane } of [one, two]) expect(await plane.directory.find(id)).toMatchObject({ runId });
  });

  it('place a sandbox on the best node of all, once: where it was sent it stays', async () => {
    const one = await start('one');
    const two = await start('two');
    await pass([one, two], [['a'], ['b']]);
    // Each round records what the nodes are.
    await expect
      .poll(async () => {
        two.manual.advance(leaseMs / 3);
        return (await one.hosts.nodes.list()).map(({ state }) => state);
      })
      .toEqual(['ready', 'ready']);
    const first = await create(one);
    expect(first.node).toBe('a');
    const elsewhere = await create(one).catch((error: unknown) => error);
    expect(elsewhere).toBeInstanceOf(ElsewhereError);
    expect(elsewhere).toMatchObject({ address: 'two:1' });
    expect(await create(two, { isForwarded: true })).toMatchObject({ node: 'b' });
    expect(await one.hosts.servers.serverOf('b')).toBe('two:1');
    expect(await one.hosts.servers.serverOf('a')).toBeUndefined();
    await two.hosts.nodes.setCordoned('a', true);
    await expect(create(one, { isForwarded: true })).rejects.toMatchObject({
      message: 'no node can take the sandbox now: a is cordoned',
    });
  });

  it('say so while a node has no owner, and reach its sandboxes meanwhile', async () => {
    const one = await start('one');
    const { id, node } = await create(one);
    const two = await start('two');
    servers.passDatabase(leaseMs);
    await expect(two.hosts.servers.serverOf(node)).rejects.toMatchObject({
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
    const one = await start('one', undefined, limits);
    const two = await start('two', undefined, limits);
    await pass([one, two], [['a'], ['b']]);
    const waiting = async () =>
      (await servers.store.listWarm()).filter(({ id, node }) =>
        servers.runtimeOf(node ?? '').instances.has(id),
      );
    await expect
      .poll(async () => (await waiting()).map(({ node }) => node ?? '').toSorted())
      .toEqual(['a', 'b']);
    const before = await waiting();
    await stop(two);
    await pass([one], [['a', 'b']]);
    await expect
      .poll(async () => (await one.hosts.nodes.list()).map(({ state }) => state))
      .toEqual(['ready', 'ready']);
    expect(await waiting()).toEqual(before);
    const made = [(await create(one)).id, (await create(one)).id];
    expect(made.toSorted()).toEqual(before.map(({ id }) => id).toSorted());
  });
});
