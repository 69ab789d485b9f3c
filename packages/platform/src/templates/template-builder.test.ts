import { markAttack } from '@skerry/runtime/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRandomIds } from '../ids.ts';
import type { BuildRow } from '../store/build-rows.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { type BuildPlan, noStartCommand } from './build-plan.ts';
import { MAX_UNFINISHED } from './template-builder.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const size = {
  project: 'local',
  cpuCount: 1,
  memoryMb: 128,
  minFreeDiskMb: 0,
  isolation: null,
  tags: ['default'],
};
const plan: BuildPlan = {
  source: { kind: 'image', reference: 'an-image', credentials: undefined },
  steps: [],
  stepsBefore: 0,
  cacheableSteps: 0,
  forcedStep: undefined,
  usesConfig: false,
  stages: [],
  ...noStartCommand,
};

it('a build whose end could not be recorded gets its own reason as soon as it can', async () => {
  const { plane, store, lines, runtime } = fixture;
  const { templateBuilder } = plane;
  // The build ends before its first sandbox.
  Object.assign(runtime.features, { imageExport: true });
  const build = await templateBuilder.request({ name: 'made', ...size });
  const { failBuild } = store;
  // Fail as the store does on a full disk.
  store.failBuild = () => Promise.reject(new Error('database or disk is full'));
  await templateBuilder.start(build, plan);
  await expect
    .poll(() => lines.map(({ message }) => message))
    .toContain('the end of a build could not be recorded');
  expect(await store.findBuild(build.id)).toMatchObject({ state: 'building' });
  store.failBuild = failBuild;
  await expect
    .poll(async () => {
      await templateBuilder.collect();
      return store.findBuild(build.id);
    })
    .toMatchObject({ state: 'error', reason: { message: 'an-image is in no registry', step: 'base' } });
});

it('a build that was not started within 40 minutes fails, and is not started any more', async () => {
  const { plane, store, runtime } = fixture;
  Object.assign(runtime.features, { imageExport: true });
  const ids = createRandomIds();
  const add = async (name: string, waitedMinutes: number): Promise<BuildRow> => {
    const createdAt = Date.now() - waitedMinutes * 60_000;
    const build = { id: ids.buildId(), createdAt, diskMb: 100, ...size };
    return (await store.addBuild(build, { templateId: ids.templateId(), name, superseded: '' })) as BuildRow;
  };
  const [late, forgotten, waiting] = [await add('late', 41), await add('gone', 41), await add('waits', 38)];
  const message = 'the build was not started within 40 minutes';
  await expect(plane.templateBuilder.start(late, plan)).rejects.toMatchObject({
    ...{ code: 'invalid_argument', message: expect.stringContaining(message) },
  });
  await plane.templateBuilder.collect();
  for (const { id } of [late, forgotten])
    expect(await store.findBuild(id)).toMatchObject({ state: 'error', reason: { message } });
  expect(await store.findBuild(waiting.id)).toMatchObject({ state: 'waiting' });
});

it('a build is refused while a thousand others wait for their start or run', async (test) => {
  markAttack(test, {
    attack: 'filling the database and the memory of the server with builds that are never started',
    place: 'outside',
    stoppedBy: 'a bound of unfinished builds, and a time limit for their start',
  });
  const { plane, store, runtime } = fixture;
  Object.assign(runtime.features, { imageExport: true });
  const ids = createRandomIds();
  for (let count = 0; count < MAX_UNFINISHED; count += 1) {
    const build = { id: ids.buildId(), createdAt: Date.now(), diskMb: 100, ...size };
    await store.addBuild(build, { templateId: ids.templateId(), name: `waiting${count}`, superseded: '' });
  }
  await expect(plane.templateBuilder.request({ name: 'more', ...size })).rejects.toMatchObject({
    code: 'resource_exhausted',
    headers: { 'Retry-After': expect.any(String) },
  });
  expect(await plane.templateBuilder.request({ name: 'waiting7', ...size })).toMatchObject({
    state: 'waiting',
  });
});
