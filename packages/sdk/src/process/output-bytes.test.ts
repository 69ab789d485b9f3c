import { Process } from '@skerry/envd-client/process';
import { expect, it } from 'vitest';
import { serveAgent } from '../testing/serve-agent.ts';
import { Commands } from './commands.ts';

// Ends in the middle of a character and has bytes that are in no UTF-8 text.
const binary = Uint8Array.of(0x00, 0xff, 0xfe, 0x0d, 0x0a, 0xe2, 0x82);
const data = (name: 'stdout' | 'stderr', value: Uint8Array) => ({
  event: { event: { case: 'data' as const, value: { output: { case: name, value } } } },
});

const serveOutput = () =>
  serveAgent((router) => {
    router.service(Process, {
      async *start() {
        yield { event: { event: { case: 'start' as const, value: { pid: 7 } } } };
        yield data('stdout', binary);
        yield data('stderr', new TextEncoder().encode('warn'));
        yield { event: { event: { case: 'end' as const, value: { exitCode: 0, exited: true } } } };
      },
    });
  });

it('passes the bytes of an output unchanged and keeps none of them, beside the text of the other output', async () => {
  const { agent } = await serveOutput();
  const chunks: Uint8Array[] = [];
  const handle = await new Commands(agent).run('cat', {
    background: true,
    onStdoutBytes: (bytes) => void chunks.push(bytes),
    onStdout: () => expect.unreachable(),
  });
  expect(await handle.wait()).toEqual({ exitCode: 0, stdout: '', stderr: 'warn' });
  expect(Buffer.concat(chunks)).toEqual(Buffer.from(binary));
  const pieces = [];
  for await (const piece of handle) pieces.push(piece);
  expect(pieces).toEqual([{ stderr: 'warn' }]);
});

it('fails with canceled when a listener of bytes throws', async () => {
  const { agent } = await serveOutput();
  const running = new Commands(agent).run('cat', {
    onStderrBytes: () => Promise.reject(new Error('no room')),
  });
  await expect(running).rejects.toMatchObject({ code: 'canceled', cause: { message: 'no room' } });
});
