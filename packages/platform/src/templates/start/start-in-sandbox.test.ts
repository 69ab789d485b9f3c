import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSystemClock } from '../../clock.ts';
import { createOneMachine } from '../../hosts/one-machine.ts';
import { createPlaneFixture, type PlaneFixture } from '../../testing/plane-fixture.ts';
import { createRecordingLog } from '../../testing/recording-log.ts';
import { startInSandbox } from './start-in-sandbox.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

it('a build whose sandbox cannot be stopped leaves no checkpoint', async () => {
  const { build } = await fixture.addStarted('served', { readyCmd: 'true' });
  const { runtime, plane } = fixture;
  const phase = {
    build,
    instanceId: 'i1',
    origin: { rootfs: '/' },
    limits: { cpuCount: 1, memoryBytes: 2 ** 27, diskBytes: 2 ** 20, processCount: 10 },
    commands: { startCmd: 'serve', readyCmd: 'true', user: 'user', workdir: '/', env: {} },
    isolation: 'container' as const,
    mayEnd: true,
    log: { add: () => undefined, flush: async () => undefined },
    signal: new AbortController().signal,
  };
  const { snapshotter } = plane;
  const hosts = createOneMachine({ runtime });
  const options = { hosts, snapshotter, clock: createSystemClock(), log: createRecordingLog().log };
  runtime.fail('stop', new Error('it does not stop'));
  await expect(startInSandbox(phase, options)).rejects.toThrow('it does not stop');
  expect(runtime.log.some((line) => line.startsWith('snapshot i1'))).toBe(true);
  expect([...runtime.snapshotIds]).toEqual([]);
  expect(await fixture.store.listSnapshotIds('making')).toEqual([]);
});
