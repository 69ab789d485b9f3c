import { RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture, plainChoices } from '../../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const rest = { ...plainChoices, snapshot: null };

describe('a create from a template with a start command', () => {
  it('begins with the checkpoint, which is then on its record', async () => {
    const origin = await fixture.addStarted('served', { readyCmd: 'false', hasCheckpoint: true });
    const made = await fixture.plane.creator.create({ project: 'local', ...origin, ...rest });
    expect(made).toMatchObject({ state: 'running', snapshotId: origin.build.checkpointId });
  });

  it('has no checkpoint on its record when it could not begin with that', async () => {
    const origin = await fixture.addStarted('served', { readyCmd: 'true', hasCheckpoint: true });
    fixture.runtime.fail('create', new RuntimeError('damaged', 'one byte differs'));
    const made = await fixture.plane.creator.create({ project: 'local', ...origin, ...rest });
    expect(made).toMatchObject({ state: 'running', snapshotId: null });
    expect(await fixture.rowOf(made.id)).toMatchObject({ snapshotId: null, buildId: origin.build.id });
  });

  it('ends with the call, and leaves nothing', async () => {
    const origin = await fixture.addStarted('never-ready', { readyCmd: 'false' });
    const caller = new AbortController();
    const created = fixture.plane.creator.create({
      project: 'local',
      ...origin,
      ...rest,
      signal: caller.signal,
    });
    await expect.poll(() => fixture.runtime.instances.size).toBe(1);
    caller.abort(new Error('the caller has left'));
    await expect(created).rejects.toMatchObject({ code: expect.any(String) });
    expect(fixture.runtime.instances.size).toBe(0);
  });
});
