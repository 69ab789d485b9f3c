import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EVERYTHING } from '../store/scope.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

/** A comparison of a sandbox with the state that it began with, which lasts until it is interrupted. */
const begin = async (id: string, signal = new AbortController().signal) => {
  const sandbox = await fixture.rowOf(id);
  if (sandbox === undefined) throw new Error(`there is no sandbox ${id}`);
  const outcome = fixture.plane.inspector
    .diff({ from: undefined, to: { sandbox }, scope: EVERYTHING, signal })
    .then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
  return { outcome };
};

describe('a comparison of files', () => {
  it('blocks a pause of the sandbox, and ends when its caller disconnects', async () => {
    const id = await fixture.create();
    const caller = new AbortController();
    const { outcome } = await begin(id, caller.signal);
    await expect(fixture.plane.pauser.pause(id, 'memory')).rejects.toMatchObject({ code: 'conflict' });
    caller.abort(Object.assign(new Error('the caller disconnected'), { code: 'left' }));
    expect(await outcome).toBe('left');
    await fixture.plane.pauser.pause(id, 'memory');
    expect((await fixture.rowOf(id))?.state).toBe('paused');
  });

  it('ends when the sandbox expires, which is not delayed', async () => {
    const id = await fixture.create({ timeoutMs: 500, autoPause: 'filesystem' });
    const { outcome } = await begin(id);
    const endAt = (await fixture.rowOf(id))?.endAt ?? 0;
    expect(await outcome).toBe('conflict');
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
    // Far below the minute after which a round of `reconcile` would find it.
    expect(((await fixture.rowOf(id))?.pausedAt ?? 0) - endAt).toBeLessThan(40_000);
  });

  it('answers 501 where files cannot be captured', async () => {
    fixture.useRuntime({ memory: false, filesystem: false });
    await fixture.startPlane();
    const { outcome } = await begin(await fixture.create());
    expect(await outcome).toBe('unimplemented');
  });

  it('ends when the sandbox is killed', async () => {
    const id = await fixture.create();
    const { outcome } = await begin(id);
    await fixture.plane.lifecycle.kill(id);
    expect(await outcome).toBe('conflict');
    expect((await fixture.rowOf(id))?.state).toBe('ended');
  });
});
