import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const resume = { timeoutMs: 30_000, memory: true };

describe('after a server that was killed', () => {
  const halfWay = async (state: 'pausing' | 'resuming') => {
    const id = await fixture.create();
    await fixture.plane.close();
    const set = { pausedAt: 1, pausedWith: 'memory' } as const;
    await fixture.store.changeState(id, { from: ['running'], to: state, set });
    return id;
  };

  it.each(['pausing', 'resuming'] as const)(
    'in the state %s a sandbox that runs is running',
    async (state) => {
      const id = await halfWay(state);
      await fixture.startPlane();
      await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('running');
      expect(await fixture.rowOf(id)).toMatchObject({ pausedAt: null, pausedWith: null });
      expect((await fixture.route(id))?.runId).toBe('run1');
      // Without variables and token nobody may reach it.
      expect(fixture.runtime.inits).toHaveLength(state === 'resuming' ? 2 : 1);
    },
  );

  it.each(['pausing', 'resuming'] as const)('in the state %s a paused one is paused', async (state) => {
    const id = await halfWay(state);
    await (await fixture.runtime.get(id)).pause({ memory: true });
    await fixture.startPlane();
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
    expect(await fixture.rowOf(id)).toMatchObject({ pausedAt: 1, pausedWith: 'memory' });
    expect(await fixture.plane.resuming.connect(id, resume)).toMatchObject({ wasPaused: true });
  });

  it.each(['pausing', 'resuming'] as const)('in the state %s one that is gone is closed', async (state) => {
    const id = await halfWay(state);
    await fixture.runtime.vanish(id);
    await fixture.startPlane();
    await expect.poll(() => fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'lost' });
  });

  it.each(['connect', 'resume'] as const)('%s takes up a transition that nobody works on', async (act) => {
    const id = await fixture.create();
    await fixture.plane.pausing.pause(id, 'memory');
    await fixture.store.changeState(id, { from: ['paused'], to: 'resuming' });
    await fixture.plane.resuming[act](id, resume);
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

  it('paused sandboxes are left alone, without an instance they are closed', async () => {
    const [kept, gone] = [await fixture.create(), await fixture.create()];
    for (const id of [kept, gone]) await fixture.plane.pausing.pause(id, 'filesystem');
    await fixture.plane.close();
    await fixture.runtime.vanish(gone);
    await fixture.startPlane();
    expect((await fixture.rowOf(kept))?.state).toBe('paused');
    await expect.poll(() => fixture.rowOf(gone)).toMatchObject({ state: 'ended', cause: 'lost' });
    await fixture.plane.lifecycle.kill(kept);
    expect(fixture.runtime.instances.size).toBe(0);
  });
});
