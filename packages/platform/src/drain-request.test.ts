import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drainRequest } from './drain-request.ts';

const server = createServer((request, response) => {
  void drainRequest(request).then(() => response.writeHead(400).end('no'));
});
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => server.close());

/** The response when the body follows its head a moment later. */
const send = async (head: string, body: string, waitMs = 50): Promise<string> => {
  const socket = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true });
  const answer = text(socket);
  socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  await delay(waitMs);
  socket.write(body);
  return answer;
};
const head = 'PUT / HTTP/1.1\r\nHost: x\r\nConnection: close';

describe('a response that does not wait for the body', () => {
  it('arrives complete when the body does, and the connection ends after it', async () => {
    for (let turn = 0; turn < 20; turn++)
      expect(await send(head, '5\r\nhello\r\n0\r\n\r\n', 5)).toMatch(/^HTTP\/1.1 400 [\s\S]*no/);
  });

  it('arrives also when the body never ends', async () => {
    expect(await send(head, '5\r\nhello\r\n')).toMatch(/^HTTP\/1.1 400 /);
  });
});
