import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ask, host, id, net, useLoopback } from './loopback-client.ts';

useLoopback();

/**
 * A server inside whose kept connection breaks when a second request arrives on it, as one does that closes it at that moment.
 * Whether it has acted on that request before cannot be known.
 */
const serveBreaking = async () => {
  const seen: string[] = [];
  await net.serveTcp(id, 3000, (socket) => {
    socket.on('error', () => {});
    let requests = 0;
    socket.on('data', (bytes) => {
      // The body may come in a packet of its own.
      if (!/ HTTP\/1\.1\r\n/.test(String(bytes))) return;
      seen.push(String(bytes).split(' ', 1)[0] ?? '');
      requests += 1;
      if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.resetAndDestroy();
    });
  });
  return seen;
};

const onStale = async (method: string, body?: string) => {
  const seen = await serveBreaking();
  expect((await ask({ host: host(3000) })).text).toBe('ok');
  const { status } = await ask({ host: host(3000) }, { method }, body);
  // Time enough for a second one.
  await delay(100);
  return { status, sent: seen.slice(1), connections: net.dialled.length };
};

it.each(['POST', 'PATCH'])('a %s without a body reaches a server inside once at most', async (method) => {
  expect(await onStale(method)).toEqual({ status: 502, sent: [method], connections: 1 });
});

it.each(['POST', 'PUT', 'PATCH'])('a %s with a body reaches it once at most', async (method) => {
  expect(await onStale(method, 'pay once')).toEqual({ status: 502, sent: [method], connections: 1 });
});

it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('a %s without a body is sent again', async (method) => {
  expect(await onStale(method)).toEqual({ status: 200, sent: [method, method], connections: 2 });
});
