import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

// Far below the minute after which a round of `reconcile` would find it.
const soon = { timeout: 40_000 };

it('a sandbox whose end was moved lives past the old end and is killed at the new one', async () => {
  const id = await fixture.create({ timeoutMs: 300 });
  const { endAt } = await fixture.plane.timeToLive.extend(id, 1_500);
  await expect.poll(() => fixture.rowOf(id), soon).toMatchObject({ state: 'ended', cause: 'expired' });
  expect((await fixture.rowOf(id))?.endedAt).toBeGreaterThanOrEqual(endAt);
});

it('one that pauses at its end does so at the new end', async () => {
  const id = await fixture.create({ timeoutMs: 300, autoPause: 'filesystem' });
  const { endAt } = await fixture.plane.timeToLive.extend(id, 1_500);
  await expect.poll(async () => (await fixture.rowOf(id))?.state, soon).toBe('paused');
  expect((await fixture.rowOf(id))?.pausedAt).toBeGreaterThanOrEqual(endAt);
});
