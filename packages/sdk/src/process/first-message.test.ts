import { Process } from '@skerry/envd-client/process';
import { expect, it } from 'vitest';
import { serveAgent } from '../testing/serve-agent.ts';
import { Commands } from './commands.ts';

const toEvent = <T>(event: T) => ({ event: { event } });
const keepalive = toEvent({ case: 'keepalive' as const, value: {} });
const start = toEvent({ case: 'start' as const, value: { pid: 7 } });
const data = toEvent({
  case: 'data' as const,
  value: { output: { case: 'stdout' as const, value: new Uint8Array([97]) } },
});
const end = toEvent({ case: 'end' as const, value: { exitCode: 0, exited: true } });

const run = async (events: (typeof keepalive | typeof start | typeof data | typeof end)[]) => {
  let isReleased = false;
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(_request, { signal }) {
        signal.addEventListener('abort', () => {
          isReleased = true;
        });
        yield* events;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
  });
  const failure = await new Commands(agent).run('x', { background: true }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { failure, isReleased: () => isReleased };
};

it.each([
  ['a keepalive', keepalive],
  ['output', data],
  ['the end', end],
])('a stream that begins with %s is refused and let go of, because no pid is known', async (_name, first) => {
  const { failure, isReleased } = await run([first, start, data, end]);
  expect(failure).toMatchObject({ code: 'internal', message: expect.stringContaining('start') });
  await expect.poll(isReleased).toBe(true);
});

it('one that begins with its start is taken', async () => {
  expect((await run([start, data])).failure).toBeUndefined();
});
