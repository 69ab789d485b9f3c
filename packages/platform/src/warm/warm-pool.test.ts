import { RuntimeError } from '@skerry/runtime';
import { CLOSED_NETWORK } from '@skerry/runtime/network';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const waiting = async () => (await fixture.store.listWarm()).map((row) => row.id);
/** Resolves with the ids of the waiting instances once `count` are recorded and running. */
const untilWaiting = async (count: number): Promise<string[]> => {
  await expect.poll(waiting).toHaveLength(count);
  await expect
    .poll(async () => (await waiting()).every((id) => fixture.runtime.instances.has(id)))
    .toBe(true);
  return waiting();
};

describe('sandboxes that are started in advance', () => {
  it('are not made unless configured', async () => {
    await fixture.create();
    expect(await waiting()).toEqual([]);
    expect(fixture.runtime.instances.size).toBe(1);
  });

  it('are kept at the minimum number, and serve the next create', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [first] = await untilWaiting(1);
    const id = await fixture.create();
    expect(id).toBe(first);
    expect(fixture.runtime.inits).toMatchObject([{ sandboxId: id, envVars: { A: 'b' } }]);
    expect((await fixture.route(id))?.runId).toBe('run1');
    const [next] = await untilWaiting(1);
    expect(next).not.toBe(first);
    expect(await fixture.route(String(next))).toBeUndefined();
    expect(await fixture.rowOf(String(next))).toBeUndefined();
  });

  it('grow with the demand, up to the maximum', async () => {
    await fixture.startPlane({ warmMin: 0, warmMax: 2 });
    await fixture.create();
    await untilWaiting(1);
    await Promise.all([fixture.create(), fixture.create(), fixture.create()]);
    await untilWaiting(2);
    expect(fixture.runtime.instances.size).toBe(6);
  });

  it('serve only requests for the same kind', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [first] = await untilWaiting(1);
    const id = await fixture.create({ network: CLOSED_NETWORK });
    expect(id).not.toBe(first);
  });

  it('are adopted by the next server, and each has a record', async () => {
    await fixture.startPlane({ warmMin: 2, warmMax: 2 });
    const before = await untilWaiting(2);
    await fixture.plane.close();
    await fixture.startPlane({ warmMin: 2, warmMax: 2 });
    expect(await waiting()).toEqual(before);
    expect(before).toContain(await fixture.create());
    await untilWaiting(2);
    expect(fixture.runtime.instances.size).toBe(3);
  });

  it('are not adopted by a server that starts its sandboxes at another level', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [first] = await untilWaiting(1);
    await fixture.plane.close();
    const { features } = fixture.runtime;
    fixture.runtime = Object.assign(fixture.runtime, { features: { ...features, level: 'gvisor' } });
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [next] = await untilWaiting(1);
    expect(next).not.toBe(first);
    expect(fixture.runtime.instances.has(String(first))).toBe(false);
  });

  it('are stopped by a server without a warm pool, and their records are removed when they are gone', async () => {
    await fixture.startPlane({ warmMin: 2, warmMax: 2 });
    const [gone] = await untilWaiting(2);
    await fixture.plane.close();
    await fixture.runtime.vanish(String(gone));
    await fixture.startPlane();
    await untilWaiting(0);
    expect(fixture.runtime.instances.size).toBe(0);
  });

  it('are replaced when they end by themselves', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [first] = await untilWaiting(1);
    fixture.runtime.crash(String(first));
    await expect.poll(waiting).not.toContain(first);
    const id = await fixture.create();
    expect(id).not.toBe(first);
  });

  it('are stopped when they do not respond, and the sandbox is created without them', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [first] = await untilWaiting(1);
    fixture.runtime.fail('init', new Error('no answer'));
    const id = await fixture.create();
    expect(id).toBe(first);
    expect(fixture.runtime.log).toEqual([`stop ${id}`]);
    expect((await fixture.rowOf(id))?.state).toBe('running');
    expect((await fixture.route(id))?.runId).not.toBe('run1');
  });

  it('keep waiting when the concurrency limit refuses the request', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1, maxSandboxes: 0 });
    const before = await untilWaiting(1);
    await expect(fixture.create()).rejects.toMatchObject({ code: 'resource_exhausted' });
    expect(await waiting()).toEqual(before);
  });

  it('are evicted when the host has no room for another kind', async () => {
    await fixture.startPlane({ warmMin: 1, warmMax: 1 });
    const [first] = await untilWaiting(1);
    fixture.runtime.fail('create', new RuntimeError('exhausted', 'full'));
    const id = await fixture.create({ network: CLOSED_NETWORK });
    expect((await fixture.rowOf(id))?.state).toBe('running');
    expect(fixture.runtime.log).toContain(`stop ${first}`);
  });
});
