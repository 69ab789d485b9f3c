import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSystemClock } from '../clock.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createSandboxRunner } from './run-in-sandbox.ts';
import { StartFailedError, startAndWait } from './start-commands.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

it.each([
  { startCmd: 'serve', readyCmd: 'false', reason: /ready command 'false' ended with exit status 1$/ },
  { startCmd: null, readyCmd: 'false', reason: /ready command 'false' ended with exit status 1$/ },
  { startCmd: 'serve', readyCmd: 'sleep 100', reason: /ready command 'sleep 100' has not ended in \d+ s$/ },
])(
  'a template whose check never succeeds fails when its time is over, with what it did: %j',
  async ({ startCmd, readyCmd, reason }) => {
    const instance = await fixture.runtime.get(await fixture.create());
    const lines: string[] = [];
    const commands = { startCmd, readyCmd, user: 'user', workdir: '/', env: {} };
    const waiting = startAndWait(commands, {
      runner: createSandboxRunner(instance),
      clock: createSystemClock(),
      onLine: (line) => lines.push(line),
      onCheckLine: (line) => lines.push(line),
      signal: new AbortController().signal,
      readyMs: 1_000,
    });
    const error: unknown = await waiting.catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StartFailedError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^the start command is not ready after 0.01\d+ minutes: /),
    });
    expect(error).toMatchObject({ message: expect.stringMatching(reason) });
    expect(lines).toEqual([]);
  },
);

it.each([
  { exposedPorts: undefined, closed: [] },
  { exposedPorts: [8000, 8001], closed: [[8000, 8001]] },
])('a start command without a check is ready after 20 s: %j', async ({ exposedPorts, closed }) => {
  const instance = await fixture.runtime.get(await fixture.create());
  const { clock, advance, timers } = createManualClock();
  const reported: (readonly number[])[] = [];
  const commands = { startCmd: 'serve', readyCmd: null, user: 'user', workdir: '/', env: {} };
  let isReady = false;
  const waiting = startAndWait(
    { ...commands, ...(exposedPorts && { exposedPorts }) },
    {
      runner: createSandboxRunner(instance),
      clock,
      onLine: () => undefined,
      onCheckLine: () => undefined,
      onClosedPorts: (ports) => reported.push(ports),
      signal: new AbortController().signal,
    },
  ).then(() => {
    isReady = true;
  });
  const beganAt = clock.elapsed();
  // The wait for the ports may sleep between two looks: advance the clock to the next timer each time.
  while (!isReady) {
    if (timers.size > 0) {
      expect(clock.elapsed() - beganAt).toBeLessThan(20_000);
      advance(Math.min(...timers.values()) - clock.elapsed());
    }
    await setImmediate();
  }
  await waiting;
  expect(clock.elapsed() - beganAt).toBe(20_000);
  expect(reported).toEqual(closed);
});
