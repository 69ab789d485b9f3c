import { ApiError } from '@skerry/contract/error';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

it('a create at the concurrency limit is refused with the time until the next end of a sandbox, at most 30 seconds', async () => {
  await fixture.startPlane({ maxSandboxes: 2 });
  const first = await fixture.create();
  await fixture.create();
  const retryAfter = async (): Promise<number> => {
    const error = await fixture.create().catch((reason: unknown) => reason);
    return error instanceof ApiError && error.status === 429 ? Number(error.headers['Retry-After']) : 0;
  };
  expect(await retryAfter()).toBe(30);
  await fixture.plane.timeToLive.set(first, 20_000);
  const soonest = await retryAfter();
  expect(soonest).toBeGreaterThan(10);
  expect(soonest).toBeLessThanOrEqual(20);
});

it('a create of a project at the concurrency limit learns nothing of the sandboxes of others', async () => {
  await fixture.startPlane({ maxSandboxes: 1 });
  await fixture.create({ timeoutMs: 20_000 });
  const refused = await fixture.create({ project: 'shop' }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 429, headers: { 'Retry-After': '30' } });
  expect((refused as Error).message).toBe(
    'the concurrency limit of the server is reached, which all projects share',
  );
});

it('a create that is refused gives back the warm instance, which the next create gets', async () => {
  await fixture.startPlane({ warmMin: 1, warmMax: 1, maxSandboxes: 1 });
  await expect.poll(() => fixture.runtime.instances.size).toBe(1);
  const first = await fixture.create();
  await expect.poll(() => fixture.runtime.instances.size).toBe(2);
  const [waiting] = [...fixture.runtime.instances].filter((id) => id !== first);
  for (let refusals = 0; refusals < 3; refusals += 1) {
    await expect(fixture.create()).rejects.toMatchObject({ code: 'resource_exhausted' });
  }
  await fixture.plane.lifecycle.kill(first);
  expect(await fixture.create()).toBe(waiting);
});

it('so does one whose row cannot be written', async () => {
  await fixture.startPlane({ warmMin: 1, warmMax: 1 });
  await expect.poll(() => fixture.runtime.instances.size).toBe(1);
  const [waiting] = [...fixture.runtime.instances];
  const { reserveSandbox } = fixture.store;
  fixture.store.reserveSandbox = async () => {
    fixture.store.reserveSandbox = reserveSandbox;
    throw new Error('the disk is full');
  };
  await expect(fixture.create()).rejects.toThrow('the disk is full');
  expect(await fixture.create()).toBe(waiting);
});
