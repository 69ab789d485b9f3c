import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

/**
 * Leaves the state of a driver that was killed in the middle of a pause: the instance is paused, but that is
 * not durable yet.
 */
const leaveHalfDone = async (id: string, pausedWith: 'memory' | 'filesystem') => {
  await fixture.plane.close();
  await fixture.store.changeState(id, {
    from: ['running'],
    to: 'pausing',
    set: { pausedAt: 1, pausedWith },
  });
  const instance = await fixture.runtime.get(id);
  const finished: { memory: boolean }[] = [];
  let rowAtFinish: string | undefined;
  const halfDone = Object.assign(Object.create(instance) as typeof instance, {
    state: async () => 'paused' as const,
    pause: async (options: { memory: boolean }) => {
      rowAtFinish = (await fixture.rowOf(id))?.state;
      finished.push(options);
      await instance.pause(options);
    },
  });
  const { get } = fixture.runtime;
  fixture.runtime = Object.assign(fixture.runtime, {
    get: async (asked: string) => (asked === id && finished.length === 0 ? halfDone : get(asked)),
  });
  return { finished, rowAtFinish: () => rowAtFinish };
};

it.each(['memory', 'filesystem'] as const)(
  'a pause with %s that stopped half way is finished before its row says paused',
  async (pausedWith) => {
    const id = await fixture.create();
    const { finished, rowAtFinish } = await leaveHalfDone(id, pausedWith);
    await fixture.startPlane();
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
    expect(finished).toEqual([{ memory: pausedWith === 'memory' }]);
    expect(rowAtFinish()).toBe('pausing');
    expect(await (await fixture.runtime.get(id)).state()).toBe('paused');
  },
);
