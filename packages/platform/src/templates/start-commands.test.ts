import { afterEach, beforeEach, expect, it } from 'vitest';
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
