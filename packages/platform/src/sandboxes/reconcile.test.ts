import type { Instance } from '@skerry/runtime';
import { OPEN_NETWORK } from '@skerry/runtime/network';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../clock.ts';
import { createOneMachine } from '../hosts/one-machine.ts';
import type { SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { createReconcile, type ReconcileOptions } from './reconcile.ts';
import { createLive } from './running-handles.ts';
import { createTerminator } from './terminator.ts';
import { createTransitions } from './transitions.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const makeUnrecorded = async (id: string) => {
  const limits = { cpuCount: 1, memoryBytes: 2 ** 27, diskBytes: 2 ** 20, processCount: 10 };
  await fixture.runtime.create({ id, hostname: id, rootfs: '/', limits, network: OPEN_NETWORK });
};

describe('an instance without a row', () => {
  it('is stopped at the next start, and no other is', async () => {
    const kept = await fixture.create();
    const paused = await fixture.create();
    await fixture.plane.pauser.pause(paused, 'filesystem');
    await fixture.plane.close();
    await makeUnrecorded('istray');
    await fixture.startPlane();
    await expect.poll(() => [...fixture.runtime.instances].sort()).toEqual([kept, paused].sort());
    expect(fixture.runtime.log.filter((act) => act.startsWith('stop'))).toEqual(['stop istray']);
    expect((await fixture.route(kept))?.runId).toBe('run1');
  });

  it('does not keep the others from being stopped when one cannot be', async () => {
    await fixture.plane.close();
    for (const id of ['istray1', 'istray2', 'istray3']) await makeUnrecorded(id);
    fixture.runtime.fail('stop', new Error('busy'));
    await fixture.startPlane();
    await expect.poll(() => fixture.runtime.instances.size).toBe(1);
    // The next server tries again.
    await fixture.plane.close();
    await fixture.startPlane();
    await expect.poll(() => fixture.runtime.instances.size).toBe(0);
  });
});

describe('a round', () => {
  /** A round after the server of the fixture has ended, with a record of what it asks of the other services. */
  const open = async ({
    store = fixture.store,
    building = [],
    starting = [],
    owns = () => true,
    places = {},
  }: {
    store?: Store;
    building?: string[];
    starting?: string[];
    /** Whether the server acts for that node. */
    owns?: (node: string | null) => boolean;
    places?: Partial<Pick<ReconcileOptions, 'hasBlobCopy'>> & {
      canReach?: (node: string | null) => boolean;
      /** The node of an instance that is listed. */
      nodeOf?: (instance: Instance) => string | null;
    };
  } = {}) => {
    await fixture.plane.close();
    const asked: string[] = [];
    const { log, lines } = createRecordingLog();
    const { runtime } = fixture;
    const { nodeOf = () => null, canReach = () => true, hasBlobCopy } = places;
    const machine = createOneMachine({ runtime });
    const hosts: ReconcileOptions['hosts'] = {
      ...machine,
      canReach,
      instances: async function* () {
        for await (const { host, instance } of machine.instances())
          yield { host: { ...host, node: nodeOf(instance) }, instance };
      },
    };
    const now = Date.now();
    const clock = { ...createSystemClock(), now: () => now };
    const live = createLive();
    const transitions = createTransitions();
    const terminator = createTerminator({
      ...{ store, hosts, live, transitions, clock, log },
      expiry: { cancel: () => undefined },
      observation: { fetched: async () => undefined },
    });
    const reconcile = createReconcile({
      ...{ store, hosts, live, terminator, clock, log, hasBlobCopy },
      adopt: (row, instance) => {
        asked.push(`adopt ${row.id}`);
        live.add(instance, { agent: { edgeNonce: 'n' }, ports: {} }, () => undefined);
      },
      creator: { isStarting: (id) => starting.includes(id) },
      lifecycle: {
        expire: async (id) => {
          asked.push(`expire ${id}`);
          throw new Error('not now');
        },
      },
      listOwn: async (query) => (await store.listSandboxes(query)).filter(({ node }) => owns(node)),
      templateBuilder: { isBuilding: (id) => building.includes(id) },
      recovery: {
        recover: async (id) => {
          asked.push(`recover ${id}`);
          return undefined;
        },
      },
      transitions: {
        current: transitions.current,
        run: (id, kind, work) => {
          asked.push(`run ${kind}`);
          return transitions.run(id, kind, work);
        },
      },
      observation: { prune: async () => void asked.push('prune') },
    });
    const run = async (): Promise<void> => {
      await reconcile.run();
      await Promise.all([reconcile.settled(), terminator.settled(), transitions.settled()]);
    };
    return { run, asked, lines, transitions, now, listMoved: reconcile.listMoved };
  };
  const put = async (id: string, state: SandboxState, set: { endAt?: number } = {}): Promise<void> => {
    await fixture.store.changeState(id, { from: ['running'], to: state, set });
  };
  const stops = (): string[] => fixture.runtime.log.filter((act) => act.startsWith('stop'));

  it('makes a running sandbox reachable once, and leaves a paused one alone', async () => {
    const [running, paused] = [await fixture.create(), await fixture.create()];
    await fixture.plane.pauser.pause(paused, 'filesystem');
    const { run, asked, lines } = await open();
    await run();
    await run();
    expect(asked).toEqual([`adopt ${running}`, 'prune', 'prune']);
    expect(lines).toMatchObject([{ level: 'info', fields: { sandboxId: running } }]);
    expect([(await fixture.rowOf(running))?.state, (await fixture.rowOf(paused))?.state]).toEqual([
      'running',
      'paused',
    ]);
    expect(stops()).toEqual([]);
  });

  it('closes a running row whose run is over, and rows whose instance is gone, as lost', async () => {
    const [crashed, gone, paused] = [await fixture.create(), await fixture.create(), await fixture.create()];
    await fixture.plane.pauser.pause(paused, 'filesystem');
    const { run, asked } = await open();
    fixture.runtime.crash(crashed);
    await expect.poll(async () => (await fixture.runtime.get(crashed)).state()).toBe('stopped');
    for (const id of [gone, paused]) await fixture.runtime.vanish(id);
    await run();
    for (const id of [crashed, gone, paused])
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'lost' });
    expect([asked, stops()]).toEqual([['prune'], [`stop ${crashed}`]]);
  });

  it('undoes a start that no process runs, and completes an end', async () => {
    const [abandoned, owned, killing] = [
      await fixture.create(),
      await fixture.create(),
      await fixture.create(),
    ];
    const { run, asked } = await open({ starting: [owned] });
    for (const id of [abandoned, owned]) await put(id, 'starting');
    await put(killing, 'killing');
    await run();
    expect(await fixture.rowOf(abandoned)).toMatchObject({ state: 'ended', cause: 'failed' });
    expect((await fixture.rowOf(killing))?.state).toBe('ended');
    expect((await fixture.rowOf(owned))?.state).toBe('starting');
    expect(stops().sort()).toEqual([`stop ${abandoned}`, `stop ${killing}`].sort());
    expect(asked).toEqual(['prune']);
  });

  it('recovers an interrupted pause or resume, as the transition of the sandbox', async () => {
    const [pausing, resuming] = [await fixture.create(), await fixture.create()];
    const { run, asked, lines } = await open();
    await put(pausing, 'pausing');
    await put(resuming, 'resuming');
    await run();
    expect(asked.filter((act) => act.startsWith('recover')).sort()).toEqual(
      [`recover ${pausing}`, `recover ${resuming}`].sort(),
    );
    expect(asked.filter((act) => act.startsWith('run'))).toEqual(['run recovery', 'run recovery']);
    expect([stops(), lines]).toEqual([[], []]);
  });

  it('leaves a sandbox alone whose transition is in progress', async () => {
    const id = await fixture.create();
    const { run, asked, lines, transitions } = await open();
    await put(id, 'pausing');
    const work = Promise.withResolvers<void>();
    const pause = transitions.run(id, 'pause-memory', () => work.promise);
    const round = run();
    await expect.poll(() => asked).toContain('prune');
    expect([asked, lines]).toEqual([['prune'], []]);
    work.resolve();
    await Promise.all([pause, round]);
  });

  it('ends what has expired, lets a sandbox that pauses then do so, and touches no other', async () => {
    const names = ['expired', 'pausing', 'later', 'laterPausing', 'paused'] as const;
    const ids = {} as Record<(typeof names)[number], string>;
    for (const name of names)
      ids[name] = await fixture.create({ autoPause: /paus/i.test(name) ? 'filesystem' : null });
    await fixture.plane.pauser.pause(ids.paused, 'filesystem');
    const { run, asked, lines } = await open();
    for (const id of [ids.expired, ids.pausing]) await put(id, 'running', { endAt: 1 });
    await fixture.store.changeState(ids.paused, { from: ['paused'], to: 'paused', set: { endAt: 1 } });
    await run();
    expect(await fixture.rowOf(ids.expired)).toMatchObject({ state: 'ended', cause: 'expired' });
    expect(asked.filter((act) => act.startsWith('expire'))).toEqual([`expire ${ids.pausing}`]);
    expect(stops()).toEqual([`stop ${ids.expired}`]);
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { sandboxId: ids.pausing } },
    ]);
    const states = await Promise.all(names.map(async (name) => (await fixture.rowOf(ids[name]))?.state));
    expect(states).toEqual(['ended', 'running', 'running', 'running', 'paused']);
  });

  /** The store, with an act between one list of sandboxes and what is done about it. */
  const storeWith = (count: number, act: () => Promise<unknown>): Store => {
    let lists = 0;
    return {
      ...fixture.store,
      listSandboxes: async (query) => {
        const rows = await fixture.store.listSandboxes(query);
        lists += 1;
        if (lists === count) await act();
        return rows;
      },
    };
  };

  it('does not end a sandbox whose end is moved after the round has read it', async () => {
    const id = await fixture.create();
    const endAt = Date.now() + 60_000;
    const store = storeWith(1, () => fixture.store.moveEnd(id, { endAt, extendOnly: false }));
    const { run, asked } = await open({ store });
    await put(id, 'running', { endAt: 1 });
    await run();
    expect(await fixture.rowOf(id)).toMatchObject({ state: 'running', endAt });
    expect([asked, stops()]).toEqual([[`adopt ${id}`, 'prune'], []]);
  });

  it('does not make a sandbox reachable that is killed after the round has read it', async () => {
    const id = await fixture.create();
    const { run, asked } = await open({ store: storeWith(2, () => put(id, 'killing')) });
    await run();
    expect(asked).toEqual(['prune']);
  });

  it('removes an instance without a row unless a build uses it', async () => {
    const { run, lines } = await open({ building: ['ibuild'] });
    for (const id of ['istray', 'ibuild']) await makeUnrecorded(id);
    await run();
    expect([stops(), [...fixture.runtime.instances]]).toEqual([['stop istray'], ['ibuild']]);
    expect(lines).toMatchObject([{ level: 'warn', fields: { sandboxId: 'istray' } }]);
  });

  /** The store, with the nodes that rows are on; null for others. */
  const storeOn = (nodes: Record<string, string>): Store => ({
    ...fixture.store,
    listSandboxes: async (query) =>
      (await fixture.store.listSandboxes(query)).map((row) => ({ ...row, node: nodes[row.id] ?? null })),
  });

  it('leaves alone what another server acts for, and what is on a node that does not answer', async () => {
    const [own, foreign, expired, far] = [
      await fixture.create(),
      await fixture.create(),
      await fixture.create(),
      await fixture.create(),
    ];
    const nodes = { [own]: 'a', [foreign]: 'b', [expired]: 'b', [far]: 'c' };
    const { run, asked, lines } = await open({
      store: storeOn(nodes),
      owns: (node) => node !== 'b',
      places: {
        canReach: (node) => node !== 'c',
        nodeOf: ({ id }) => nodes[id] ?? null,
      },
    });
    await put(expired, 'running', { endAt: 1 });
    for (const id of [foreign, far]) await fixture.runtime.vanish(id);
    await run();
    expect(asked).toEqual([`adopt ${own}`, 'prune']);
    expect([stops(), lines.map(({ level }) => level)]).toEqual([[], ['info']]);
    const states = await Promise.all(
      [foreign, expired, far].map(async (id) => (await fixture.rowOf(id))?.state),
    );
    expect(states).toEqual(['running', 'running', 'running']);
  });

  it('removes what a sandbox has left on the node where it was before', async () => {
    const [moved, stays] = [await fixture.create(), await fixture.create()];
    const { run, asked, lines, listMoved } = await open({
      store: storeOn({ [moved]: 'b', [stays]: 'a' }),
      building: ['ibuild'],
      owns: (node) => node === 'a',
      places: { nodeOf: () => 'a' },
    });
    await makeUnrecorded('ibuild');
    const ids = async (node: string) => (await listMoved(node)).map(({ instance }) => instance.id);
    expect([await ids('a'), await ids('b')]).toEqual([[moved], []]);
    await run();
    expect([stops(), asked]).toEqual([[`stop ${moved}`], [`adopt ${stays}`, 'prune']]);
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { fields: { sandboxId: moved, node: 'a' } },
    ]);
    expect((await fixture.rowOf(moved))?.state).toBe('running');
  });

  it('keeps a paused sandbox whose instance is gone while the blob store has it, and only a paused one', async () => {
    const [stored, paused, running, there] = [
      await fixture.create(),
      await fixture.create(),
      await fixture.create(),
      await fixture.create(),
    ];
    for (const id of [stored, paused, there]) await fixture.plane.pauser.pause(id, 'filesystem');
    const found: string[] = [];
    const { run } = await open({
      places: {
        hasBlobCopy: async ({ id }) => {
          found.push(id);
          return id !== paused;
        },
      },
    });
    for (const id of [stored, paused, running]) await fixture.runtime.vanish(id);
    await run();
    expect(found.sort()).toEqual([stored, paused].sort());
    expect(await fixture.rowOf(stored)).toMatchObject({ state: 'paused', cause: null });
    for (const id of [paused, running])
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'lost' });
    expect((await fixture.rowOf(there))?.state).toBe('paused');
  });

  it('removes the record of a sandbox thirty days after its end', async () => {
    const ids = [await fixture.create(), await fixture.create()];
    const { run, now } = await open();
    const limit = now - 30 * 86_400_000;
    const ends = [limit - 1, limit];
    for (const [index, id] of ids.entries()) {
      await put(id, 'killing');
      const set = { endedAt: ends[index] as number };
      await fixture.store.changeState(id, { from: ['killing'], to: 'ended', set });
    }
    await run();
    const found = await Promise.all(ids.map((id) => fixture.rowOf(id)));
    expect(found.map((row) => row?.state)).toEqual([undefined, 'ended']);
  });
});
