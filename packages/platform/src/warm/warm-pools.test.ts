import { RuntimeError } from '@skerry/runtime';
import { CLOSED_NETWORK } from '@skerry/runtime/network';
import { describe, expect, it } from 'vitest';
import { useFleet } from '../hosts/testing/fleet-fixture.ts';
import type { WarmSpec } from './warm-pool.ts';

const fleet = useFleet({ limits: { warmMin: 1, warmMax: 1 } });

/** What waits, by node, once it runs there. */
const waiting = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await fleet.store.listWarm())
      .filter(({ id, node }) => fleet.at(node ?? '').runtime.instances.has(id))
      .map(({ id, node }) => [node, id]),
  );
const untilOn = async (...nodes: string[]): Promise<Record<string, string>> => {
  await expect.poll(async () => Object.keys(await waiting()).toSorted()).toEqual(nodes);
  return waiting();
};
const reasonOf = async (sandboxId: string): Promise<string | undefined> => {
  const [entry] = await fleet.store.listLogEntries({ sandboxId, order: 'asc', limit: 1 });
  return entry?.fields.reason;
};

describe('sandboxes that are started in advance on nodes', () => {
  it('wait on each, and a create goes where one waits rather than where most memory is left', async () => {
    await fleet.start(['a', 'b'], ['a']);
    const { a } = await untilOn('a');
    // Node b could take the sandbox and has more memory left, but nothing waits there yet.
    fleet.at('a').up(2 ** 29);
    fleet.at('b').up();
    await expect.poll(fleet.states).toEqual({ a: 'ready', b: 'ready' });
    const first = await fleet.create();
    expect([first, await fleet.nodeOf(first)]).toEqual([a, 'a']);
    expect(await reasonOf(first)).toMatch(
      /^one like it was started there in advance: a 38 % with the sandbox, b 13 %/,
    );
    const next = await untilOn('a', 'b');
    const second = await fleet.create();
    expect([second, await fleet.nodeOf(second)]).toEqual([next.b, 'b']);
    await untilOn('a', 'b');
  });

  it('have the default level of a node that answers after the start', async () => {
    await fleet.start(['a'], []);
    Object.assign(fleet.at('a').runtime.features, { level: 'gvisor' });
    fleet.at('a').up();
    await untilOn('a');
    const levels = (await fleet.store.listWarm()).map(({ spec }) => (JSON.parse(spec) as WarmSpec).isolation);
    expect(levels).toEqual(['gvisor']);
  });

  it('are found again by the next server', async () => {
    await fleet.start(['a', 'b']);
    const before = await untilOn('a', 'b');
    await fleet.stop();
    await fleet.start(['a', 'b']);
    await expect.poll(fleet.states).toEqual({ a: 'ready', b: 'ready' });
    expect(await waiting()).toEqual(before);
    expect(Object.values(before)).toContain(await fleet.create());
  });

  it('are stopped on a node that is cordoned or has little memory left, and stay on one that does not answer', async () => {
    await fleet.start(['a', 'b', 'c']);
    const before = await untilOn('a', 'b', 'c');
    fleet.at('c').down();
    await fleet.hosts.nodes.setCordoned('a', true);
    await untilOn('b', 'c');
    fleet.at('b').up(0.95 * 2 ** 30);
    fleet.plane.nodeEvents.onCordon();
    await untilOn('c');
    expect(await waiting()).toEqual({ c: before.c });
    fleet.at('c').up();
    await expect.poll(fleet.states).toMatchObject({ c: 'ready' });
    expect(await fleet.create()).toBe(before.c);
    await fleet.hosts.nodes.setCordoned('a', false);
    await untilOn('a', 'c');
  });

  it('leave their node for a sandbox of another kind that it has no capacity for otherwise', async () => {
    await fleet.start(['a']);
    const { a } = await untilOn('a');
    fleet.at('a').runtime.fail('create', new RuntimeError('exhausted', 'full'));
    const id = await fleet.create({ network: CLOSED_NETWORK });
    expect(await fleet.stateOf(id)).toBe('running');
    expect(fleet.at('a').runtime.log).toContain(`stop ${a}`);
  });

  it('are on no record any more when their node is forgotten', async () => {
    await fleet.start(['a', 'b']);
    await untilOn('a', 'b');
    fleet.at('b').down();
    await fleet.hosts.nodes.forget('b', fleet.plane.nodeEvents.abandon);
    expect((await fleet.store.listWarm()).map(({ node }) => node)).toEqual(['a']);
  });
});
