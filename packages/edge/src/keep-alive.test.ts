import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toConnectionBounds } from './connections/connection-bounds.ts';
import { guardConnections } from './connections/connection-guard.ts';
import { host, id, net, useLoopback } from './loopback-client.ts';
import { edgeServerOptions } from './server-options.ts';

useLoopback();

/** Sends a head with these lines and returns all that comes back, and whether the other side has ended the connection soon. */
const send = async (port: number, first: string, ...lines: string[]) => {
  const socket = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  const all = text(socket);
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += String(chunk);
  });
  socket.write(`${[first, ...lines].join('\r\n')}\r\n\r\n`);
  const hasEnded = await Promise.race([all.then(() => true), delay(300, false)]);
  return { got, hasEnded, connection: /^connection: (.*)\r$/im.exec(got)?.[1]?.toLowerCase() };
};

const cases: [string, string[], { hasEnded: boolean; connection: string }][] = [
  ['HTTP/1.1', [], { hasEnded: false, connection: 'keep-alive' }],
  ['HTTP/1.1', ['Connection: close'], { hasEnded: true, connection: 'close' }],
  ['HTTP/1.1', ['Connection: X-A, Close'], { hasEnded: true, connection: 'close' }],
  ['HTTP/1.0', [], { hasEnded: true, connection: 'close' }],
  ['HTTP/1.0', ['Connection: keep-alive'], { hasEnded: false, connection: 'keep-alive' }],
];

describe('a client that does not keep its connection', () => {
  it.each(cases)('is obeyed by a server that knows its callers: %s %s', async (version, lines, expected) => {
    const server = createServer(edgeServerOptions, (request, response) => {
      guard.begin(request, response);
      guard.accept(request, 'authorised');
      response.setHeader('content-length', 4);
      response.end('done');
    });
    const guard = guardConnections(server, { bounds: toConnectionBounds(1024), log: console });
    server.listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await send(port, `GET / ${version}`, 'Host: a.test', ...lines)).toMatchObject(expected);
  });

  it.each(cases)('is obeyed in a preview: %s %s', async (version, lines, expected) => {
    await net.serve(id, 3000, (_req, res) => res.setHeader('content-length', 4).end('done'));
    const answer = await send(net.port, `GET / ${version}`, `Host: ${host(3000)}`, ...lines);
    expect(answer).toMatchObject(expected);
    expect(answer.got).toMatch(/\r\n\r\ndone$/);
  });

  it('gets a body of unknown length to the end of the connection, without chunks, in HTTP/1.0', async () => {
    await net.serve(id, 3000, (_req, res) => {
      res.write('one ');
      res.addTrailers({ 'x-sum': '1' });
      setTimeout(() => res.end('two'), 20);
    });
    for (const more of [[], ['Connection: keep-alive']]) {
      const answer = await send(net.port, 'GET / HTTP/1.0', `Host: ${host(3000)}`, ...more);
      expect(answer).toMatchObject({ hasEnded: true, connection: 'close' });
      expect(answer.got).toMatch(/\r\n\r\none two$/);
    }
  });
});
