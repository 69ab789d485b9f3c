import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSystemClock } from '../clock.ts';
import { createOneMachine } from '../hosts/one-machine.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { withSandbox } from './with-sandbox.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const use = (work: () => Promise<void> = async () => undefined): Promise<void> => {
  const sandbox = {
    instanceId: 'i1',
    templateId: 't1',
    origin: { rootfs: '/' },
    limits: { cpuCount: 1, memoryBytes: 2 ** 27, diskBytes: 2 ** 20, processCount: 10 },
    isolation: 'container' as const,
    signal: new AbortController().signal,
  };
  const { log } = createRecordingLog();
  return withSandbox(
    sandbox,
    { hosts: createOneMachine({ runtime: fixture.runtime }), clock: createSystemClock(), log },
    work,
  );
};
const listInstances = async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id } of fixture.runtime.list()) ids.push(id);
  return ids;
};

it('leaves no instance when the runtime is lost at any moment', async () => {
  fixture.runtime.loseAnswer('create');
  await expect(use()).rejects.toThrow('the response was lost');
  expect(await listInstances()).toEqual([]);
  const lost = new Error('the runtime was lost');
  await expect(use(() => Promise.reject(lost))).rejects.toBe(lost);
  expect(await listInstances()).toEqual([]);
  fixture.runtime.loseAnswer('stop');
  await use();
  expect(await listInstances()).toEqual([]);
});
