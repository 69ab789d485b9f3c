import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createSandboxRunner } from './run-in-sandbox.ts';
import { StartFailedError, startAndWait } from './start-commands.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

it.each(['serve', null])(
  'a template whose check never succeeds fails when its time is over: %j',
  async (startCmd) => {
    const instance = await fixture.runtime.get(await fixture.create());
    const lines: string[] = [];
    const commands = { startCmd, readyCmd: 'false', user: 'user', workdir: '/', env: {} };
    const waiting = startAndWait(commands, {
      runner: createSandboxRunner(instance),
      onLine: (line) => lines.push(line),
      onCheckLine: (line) => lines.push(line),
      signal: new AbortController().signal,
      readyMs: 300,
    });
    await expect(waiting).rejects.toThrow(
      new StartFailedError('the start command is not ready after 0.005 minutes'),
    );
    expect(lines).toEqual([]);
  },
);
