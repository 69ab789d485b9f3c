import { RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

it('a kill that was cut off with the runtime goes on with the next one, before it is answered', async () => {
  const id = await fixture.create();
  fixture.runtime.fail('stop', new RuntimeError('unavailable', 'the connection to the runtime ended'));
  await fixture.plane.lifecycle.kill(id);
  expect(fixture.runtime.log).toEqual([`stop ${id}`, `stop ${id}`]);
  expect(fixture.runtime.instances.has(id)).toBe(false);
  expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'killed' });
});

it('a kill that the runtime cannot carry out is left to the next round', async () => {
  const id = await fixture.create();
  fixture.runtime.fail('stop', new RuntimeError('internal', 'it does not end'));
  await fixture.plane.lifecycle.kill(id);
  expect(fixture.runtime.log).toEqual([`stop ${id}`]);
  expect((await fixture.rowOf(id))?.state).toBe('killing');
});
