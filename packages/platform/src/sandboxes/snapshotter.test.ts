import { RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture, plainChoices } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const request = { kind: 'filesystem', name: null, tag: 'default' } as const;
const make = (id: string, more: Partial<Parameters<typeof fixture.plane.snapshotter.create>[1]> = {}) =>
  fixture.plane.snapshotter.create(id, { ...request, ...more });
const kept = async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id } of fixture.runtime.snapshots.list()) ids.push(id);
  return ids;
};
const rows = async () =>
  (
    await Promise.all(
      (['making', 'ready', 'removing'] as const).map((state) => fixture.store.listSnapshotIds(state)),
    )
  ).flat();

describe('snapshotting', () => {
  it.each([
    ['the host is full', new RuntimeError('exhausted', 'full'), 'unavailable'],
    ['the helper ends in the middle', new RuntimeError('unavailable', 'the connection ended'), 'unavailable'],
    ['its folders are nested too deeply', new RuntimeError('unsupported', 'too deep'), 'invalid_argument'],
    ['anything else goes wrong', new Error('secret of the host'), 'internal'],
  ])('leaves no snapshot, and the sandbox running, when %s', async (_what, failure, code) => {
    const id = await fixture.create();
    fixture.runtime.fail('snapshot', failure);
    const error = await make(id).catch((reason: Error) => reason);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).not.toContain('secret');
    expect([await kept(), await rows()]).toEqual([[], []]);
    expect((await fixture.rowOf(id))?.state).toBe('running');
    expect(await fixture.route(id)).toBeDefined();
  });

  it('answers 404 when the sandbox ends before it is captured', async () => {
    const id = await fixture.create();
    const release = fixture.runtime.hold('snapshot');
    const made = make(id).catch((error: Error) => error);
    await expect.poll(() => fixture.runtime.log).toContain(`snapshot ${id} filesystem`);
    await fixture.plane.lifecycle.kill(id);
    fixture.runtime.fail('snapshot', new RuntimeError('unavailable', 'ended'));
    release();
    expect(await made).toMatchObject({ code: 'not_found' });
  });

  it('removes the snapshot when the response of the runtime is lost, since no caller knows its id', async () => {
    const id = await fixture.create();
    fixture.runtime.loseAnswer('snapshot');
    await expect(make(id)).rejects.toMatchObject({ code: 'unavailable' });
    expect([await kept(), await rows()]).toEqual([[], []]);
    expect(await make(id)).toMatchObject({ state: 'ready' });
  });

  it('keeps the sandbox reachable meanwhile, allows a kill, and refuses any other operation', async () => {
    const id = await fixture.create();
    const release = fixture.runtime.hold('copy');
    const made = make(id);
    await expect.poll(() => fixture.runtime.log).toContain(`snapshot ${id} filesystem`);
    expect(await fixture.route(id)).toBeDefined();
    await expect(make(id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(fixture.plane.pauser.pause(id, 'filesystem')).rejects.toMatchObject({ code: 'conflict' });
    // A kill does not wait for the work on the copy.
    await fixture.plane.lifecycle.kill(id);
    expect(fixture.runtime.instances.has(id)).toBe(false);
    release();
    expect(await made).toMatchObject({ state: 'ready' });
    expect(await kept()).toHaveLength(1);
  });

  it('pauses a sandbox that expired meanwhile', async () => {
    const id = await fixture.create({ autoPause: 'filesystem' });
    const release = fixture.runtime.hold('snapshot');
    const made = make(id);
    await expect.poll(() => fixture.runtime.log).toContain(`snapshot ${id} filesystem`);
    await fixture.plane.timeToLive.set(id, 0);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect((await fixture.rowOf(id))?.state).toBe('running');
    release();
    await made;
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
  });

  it('creates a sandbox of the same size from it, and counts that as a use', async () => {
    const id = await fixture.create();
    const snapshot = await make(id, { name: 'prepared' });
    const template = await fixture.store.findNamedTemplate({ project: 'local', name: 'prepared' });
    if (template === undefined) throw new Error('no template');
    const begun = await fixture.plane.creator.create({
      project: 'local',
      template,
      snapshot,
      build: null,
      ...plainChoices,
    });
    expect(begun).toMatchObject({ snapshotId: snapshot.id, templateName: 'prepared', diskMb: 1 });
    const remove = () => fixture.plane.snapshotter.delete({ templateId: template.id });
    await expect(remove()).rejects.toMatchObject({ code: 'invalid_argument' });
    await fixture.plane.lifecycle.kill(begun.id);
    await remove();
    await expect(remove()).rejects.toMatchObject({ code: 'not_found' });
    const again = fixture.plane.creator.create({
      project: 'local',
      template,
      snapshot,
      build: null,
      ...plainChoices,
    });
    await expect(again).rejects.toMatchObject({ code: 'not_found' });
    expect(await kept()).toEqual([]);
  });

  it('repairs the leftovers of a killed server at the start', async () => {
    const id = await fixture.create();
    const wanted = await make(id, { name: 'wanted' });
    const size = { cpuCount: 1, memoryMb: 128, diskMb: 1 };
    const half = {
      project: 'local',
      sandboxId: id,
      parentId: null,
      isolation: 'container' as const,
      buildId: null,
      kind: 'filesystem' as const,
      createdAt: 0,
      ...size,
    };
    const instance = await fixture.runtime.get(id);
    // Made, and the server was killed before a tag pointed to it.
    await fixture.store.beginSnapshot({ id: 'untold', ...half });
    await instance.snapshot({ id: 'untold', memory: false });
    // Recorded, and the server was killed before it was made.
    await fixture.store.beginSnapshot({ id: 'unmade', ...half });
    // Deleted, and the server was killed before its files were.
    const doomed = await make(id, { name: 'doomed' });
    await fixture.store.retireSnapshots({ templateId: doomed.templateId });
    // Left by a database that was restored from a backup.
    await instance.snapshot({ id: 'unknown', memory: false });
    expect(await kept()).toHaveLength(4);
    await fixture.startPlane();
    expect(await kept()).toEqual([wanted.id]);
    expect(await rows()).toEqual([wanted.id]);
  });
});
