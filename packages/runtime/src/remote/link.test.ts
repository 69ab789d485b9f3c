import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { expect, it, onTestFinished } from 'vitest';
import { RuntimeLostError } from '../error.ts';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { dialSocket } from './client.ts';
import { createLink } from './link.ts';

it('connects again once when the first connection ends while it is made', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'link-'));
  const socketPath = join(dir, 'end.sock');
  const server = createServer().listen(socketPath);
  await once(server, 'listening');
  let dials = 0;
  const link = createLink({
    dial: async () => {
      const socket = await dialSocket(socketPath);
      if (++dials === 1) socket.destroy();
      return socket;
    },
    onConnect: () => new Promise(() => undefined),
    isWanted: () => true,
  });
  onTestFinished(async () => {
    await link.close();
    server.close();
    await rm(dir, { recursive: true, force: true });
  });
  await link.connect();
  await link.connect();
  await setTimeout(150);
  await link.connect();
  expect(dials).toBe(2);
});

it.each<[string, (stream: ServerHttp2Stream) => void]>([
  ['closes the socket', (stream) => stream.session?.socket.destroy()],
  ['ends the session', (stream) => stream.session?.destroy(undefined, constants.NGHTTP2_NO_ERROR)],
  ['resets the stream', (stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ['resets it as one of too many', (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
])('rejects a call with RuntimeLostError where the other side %s', async (_what, end) => {
  const dir = await mkdtemp(join(tmpdir(), 'link-'));
  const socketPath = join(dir, 'end.sock');
  const server = createServer().listen(socketPath);
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    end(stream);
  });
  await once(server, 'listening');
  const link = createLink({
    dial: () => dialSocket(socketPath),
    onConnect: () => new Promise(() => undefined),
    isWanted: () => false,
  });
  onTestFinished(async () => {
    await link.close();
    server.close();
    await rm(dir, { recursive: true, force: true });
  });
  await expect(createClient(RuntimeService, link.transport).describe({})).rejects.toBeInstanceOf(
    RuntimeLostError,
  );
});
