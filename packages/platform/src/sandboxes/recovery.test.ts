import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../clock.ts';
import { createOneMachine } from '../hosts/one-machine.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { createRecovery } from './recovery.ts';
import { createLive } from './running-handles.ts';
import { createTerminator } from './terminator.ts';
import { createTransitions } from './transitions.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const resume = { timeoutMs: 30_000, memory: true };

const halfWay = async (
  state: 'pausing' | 'resuming',
  pausedWith: 'memory' | 'filesystem' = 'memory',
): Promise<string> => {
  const id = await fixture.create();
  await fixture.plane.close();
  await fixture.store.changeState(id, { from: ['running'], to: state, set: { pausedAt: 1, pausedWith } });
  return id;
};

describe('after a server that was killed', () => {
  it.each(['pausing', 'resuming'] as const)(
    'in state %s a row whose instance runs becomes running',
    async (state) => {
      const id = await halfWay(state);
      await fixture.startPlane();
      await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('running');
      expect(await fixture.rowOf(id)).toMatchObject({ pausedAt: null, pausedWith: null });
      const route = await fixture.route(id);
      expect(route?.runId).toBe('run1');
      // What the agent was told by the server before is what this one tells the edge.
      expect(fixture.runtime.inits.map(({ edgeNonce }) => edgeNonce)).toEqual(
        fixture.runtime.inits.map(() => route?.agent.edgeNonce),
      );
      // Without variables and token the sandbox must not be reachable.
      expect(fixture.runtime.inits).toHaveLength(state === 'resuming' ? 2 : 1);
    },
  );

  it.each(['pausing', 'resuming'] as const)(
    'in state %s a row whose instance is paused becomes paused',
    async (state) => {
      const id = await halfWay(state);
      await (await fixture.runtime.get(id)).pause({ memory: true });
      await fixture.startPlane();
      await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
      expect(await fixture.rowOf(id)).toMatchObject({ pausedAt: 1, pausedWith: 'memory' });
      expect(await fixture.plane.resumer.connect(id, resume)).toMatchObject({ wasPaused: true });
    },
  );

  it.each(['pausing', 'resuming'] as const)(
    'in state %s a row whose instance is gone is closed',
    async (state) => {
      const id = await halfWay(state);
      await fixture.runtime.vanish(id);
      await fixture.startPlane();
      await expect.poll(() => fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'lost' });
    },
  );

  it.each(['connect', 'resume'] as const)('%s completes an abandoned transition', async (act) => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    await fixture.store.changeState(id, { from: ['paused'], to: 'resuming' });
    await fixture.plane.resumer[act](id, resume);
    expect((await fixture.route(id))?.runId).toBe('run2');
  });

  it('a sandbox whose agent cannot be set up is paused again', async () => {
    const id = await halfWay('resuming');
    fixture.runtime.fail('init', new Error('broken'));
    await fixture.startPlane();
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
    expect(fixture.runtime.log).toEqual([`pause ${id} memory`]);
    expect(await fixture.route(id)).toBeUndefined();
  });

  it('paused sandboxes stay paused, and are closed if their instance is gone', async () => {
    const [kept, gone] = [await fixture.create(), await fixture.create()];
    for (const id of [kept, gone]) await fixture.plane.pauser.pause(id, 'filesystem');
    await fixture.plane.close();
    await fixture.runtime.vanish(gone);
    await fixture.startPlane();
    expect((await fixture.rowOf(kept))?.state).toBe('paused');
    await expect.poll(() => fixture.rowOf(gone)).toMatchObject({ state: 'ended', cause: 'lost' });
    await fixture.plane.lifecycle.kill(kept);
    expect(fixture.runtime.instances.size).toBe(0);
  });
});

describe('the recovery of a row', () => {
  const open = (store = fixture.store, stored: readonly string[] = []) => {
    const hosts = createOneMachine({ runtime: fixture.runtime });
    const clock = createSystemClock();
    const { log, lines } = createRecordingLog();
    const adopted: string[] = [];
    const terminator = createTerminator({
      ...{ store, hosts, clock, log, live: createLive(), transitions: createTransitions() },
      expiry: { cancel: () => undefined },
      observation: { fetched: async () => undefined },
    });
    const recovery = createRecovery({
      ...{ store, hosts, terminator, clock, log, secret: 'secret' },
      adopt: (row) => void adopted.push(`${row.id} ${row.state}`),
      hasBlobCopy: async ({ id }) => stored.includes(id),
      limits: { startTimeoutMs: 10_000 },
    });
    return { recovery, terminator, adopted, lines };
  };

  it.each(['pausing', 'resuming'] as const)(
    'in state %s keeps its end and makes it reachable',
    async (state) => {
      const id = await halfWay(state);
      const endAt = (await fixture.rowOf(id))?.endAt;
      const { recovery, adopted, lines } = open();
      expect(await recovery.recover(id)).toBe('running');
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'running', endAt, pausedAt: null });
      expect(adopted).toEqual([`${id} running`]);
      expect(lines).toMatchObject([{ level: 'info', fields: { sandboxId: id, from: state, to: 'running' } }]);
    },
  );

  it('changes no row in another state', async () => {
    const { recovery, adopted, lines } = open();
    expect(await recovery.recover('unknown')).toBeUndefined();
    const id = await fixture.create();
    for (const state of ['running', 'paused', 'killing', 'starting'] as const) {
      await fixture.store.changeState(id, {
        from: ['running', 'paused', 'killing'],
        to: state,
      });
      const before = await fixture.rowOf(id);
      expect(await recovery.recover(id)).toBe(state);
      expect(await fixture.rowOf(id)).toEqual(before);
    }
    expect([adopted, lines, fixture.runtime.log]).toEqual([[], [], []]);
  });

  it.each(['pausing', 'resuming'] as const)(
    'in state %s does not make it reachable when it is killed meanwhile',
    async (state) => {
      const id = await halfWay(state);
      const { recovery, adopted } = open({
        ...fixture.store,
        changeState: async (changed, change) => {
          if (change.to === 'running') await fixture.store.changeState(id, { from: [state], to: 'killing' });
          return fixture.store.changeState(changed, change);
        },
      });
      expect(await recovery.recover(id)).toBe('killing');
      expect([adopted, fixture.runtime.log]).toEqual([[], []]);
    },
  );

  it.each(['pausing', 'resuming'] as const)(
    'in state %s closes it as lost when its run is over',
    async (state) => {
      const id = await halfWay(state);
      fixture.runtime.crash(id);
      await expect.poll(async () => (await fixture.runtime.get(id)).state()).toBe('stopped');
      const { recovery, terminator, adopted } = open();
      await recovery.recover(id);
      await terminator.settled();
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'lost' });
      expect([adopted, fixture.runtime.log]).toEqual([[], [`stop ${id}`]]);
    },
  );

  it('keeps it paused after an interrupted resume while the blob store has it, and no other', async () => {
    const [kept, lost, pausing] = [
      await halfWay('resuming'),
      await halfWay('resuming'),
      await halfWay('pausing'),
    ];
    for (const id of [kept, lost, pausing]) await fixture.runtime.vanish(id);
    const { recovery, terminator } = open(fixture.store, [kept, pausing]);
    expect(await recovery.recover(kept)).toBe('paused');
    expect(await fixture.rowOf(kept)).toMatchObject({ state: 'paused', pausedWith: 'memory' });
    for (const id of [lost, pausing]) await recovery.recover(id);
    await terminator.settled();
    for (const id of [lost, pausing])
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'lost' });
  });

  it('leaves the instance of a row that was closed meanwhile to the one that closed it', async () => {
    const id = await halfWay('pausing');
    fixture.runtime.crash(id);
    await expect.poll(async () => (await fixture.runtime.get(id)).state()).toBe('stopped');
    const { recovery, terminator } = open({
      ...fixture.store,
      changeState: async (changed, change) => {
        if (change.to === 'killing')
          await fixture.store.changeState(id, { from: ['pausing'], to: 'ended', set: { endedAt: 7 } });
        return fixture.store.changeState(changed, change);
      },
    });
    expect(await recovery.recover(id)).toBe('ended');
    await terminator.settled();
    expect(fixture.runtime.log).toEqual([]);
  });

  it('pauses it again as it was paused before when its agent cannot be set up, and says so', async () => {
    const id = await halfWay('resuming', 'filesystem');
    const error = new Error('broken');
    fixture.runtime.fail('init', error);
    const { recovery, lines } = open();
    expect(await recovery.recover(id)).toBe('paused');
    expect(fixture.runtime.log).toEqual([`pause ${id} filesystem`]);
    expect(lines.map(({ level, fields }) => [level, fields?.sandboxId])).toEqual([
      ['warn', id],
      ['info', id],
    ]);
  });
});
