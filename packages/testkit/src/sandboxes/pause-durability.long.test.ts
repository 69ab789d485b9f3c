import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { expect, it } from 'vitest';
import type { Stack } from '../stack/stack.ts';
import { useSuccessiveServers } from '../stack/successive-servers.ts';

const servers = useSuccessiveServers();

const stateOf = async (stack: Stack, sandboxID: string) =>
  (await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data?.state;

/** A sandbox with a file that holds its own id. */
const createMarked = async (stack: Stack): Promise<Sandbox> => {
  const { sandboxId } = await stack.createSandbox({ envVars: { GREETING: 'hallo' } });
  const sandbox = await Sandbox.connect(sandboxId, stack.connection);
  await sandbox.files.write('/home/user/mark', sandboxId);
  return sandbox;
};
const readMark = async (stack: Stack, id: string): Promise<string> => {
  const sandbox = await Sandbox.connect(id, stack.connection);
  return (await sandbox.commands.run('echo $GREETING $(cat /home/user/mark)')).stdout;
};

it.each([
  ['kill', true],
  ['kill', false],
  ['stop', false],
] as const)('a paused sandbox outlives its server that ends by %s, memory: %s', async (ending, memory) => {
  const first = await servers.start();
  const { sandboxId: id } = await createMarked(first);
  await Sandbox.pause(id, { ...first.connection, memory });
  await servers.end(ending);
  const second = await servers.start();
  expect(await stateOf(second, id)).toBe('paused');
  expect(await readMark(second, id)).toBe(`hallo ${id}\n`);
  expect(await stateOf(second, id)).toBe('running');
  expect(await Sandbox.kill(id, second.connection)).toBe(true);
});

it.each([10, 40, 90, 160, 250])(
  'kill -9 of the server %i ms after the first of a series of pauses and resumes loses no sandbox and no file',
  async (afterMs) => {
    const first = await servers.start();
    const sandboxes = await Promise.all([createMarked(first), createMarked(first), createMarked(first)]);
    const firstPause = Promise.withResolvers<void>();
    const series = sandboxes.map(async (sandbox, index) => {
      await delay(index * 25);
      for (;;) {
        // Every second one keeps its memory.
        await sandbox.pause({ memory: index % 2 === 0 });
        firstPause.resolve();
        await Sandbox.connect(sandbox.sandboxId, first.connection);
      }
    });
    const ended = Promise.allSettled(series);
    // A call that is refused before the server is killed ends the test.
    await Promise.race([firstPause.promise.then(() => delay(afterMs)), Promise.all(series)]);
    await servers.end('kill');
    await ended;

    const second = await servers.start();
    for (const { sandboxId: id } of sandboxes) {
      expect(['running', 'paused']).toContain(await stateOf(second, id));
      expect(await readMark(second, id)).toBe(`hallo ${id}\n`);
      expect(await Sandbox.kill(id, second.connection)).toBe(true);
    }
  },
);
