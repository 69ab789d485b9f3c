// What a client sees of a sandbox that ends, or of its server inside, by each way to the edge.
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { host, id, net, useLoopback } from '../loopback-client.ts';
import { DATA, END_HEADERS, END_STREAM, HEADERS, RawHttp2, toFields, toFrame } from './testing/raw-http2.ts';
import { certificate, port, session, useSecureFront } from './testing/secure-client.ts';
import { toWebSocketHeaders } from './testing/websocket-stream.ts';

useLoopback();
useSecureFront();

const authority = host(3000);
/** INTERNAL_ERROR of RFC 9113. */
const BROKEN = 2;
/** A WebSocket without a closing message (RFC 6455, 7.1.5). */
const ABNORMAL = 1006;

const fateOf = async (socket: WebSocket): Promise<() => Promise<unknown>> => {
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'message');
  return async () => (await closed)[0];
};

/** Each opens a WebSocket, and returns the code with which it closes. */
const ways: Record<string, () => Promise<() => Promise<unknown>>> = {
  'HTTP/1.1': () => fateOf(new WebSocket(`ws://127.0.0.1:${net.port}/`, { headers: { host: authority } })),
  'HTTP/1.1 over TLS'() {
    const options = { ca: certificate.cert, servername: 'example.test', headers: { host: authority } };
    return fateOf(new WebSocket(`wss://127.0.0.1:${port}/`, [], options));
  },
  async 'a stream of HTTP/2'() {
    const stream = session.request(toWebSocketHeaders(authority));
    stream.on('error', () => undefined);
    const closed = new Promise((resolve) => stream.once('close', resolve));
    await once(stream, 'data');
    return async () => {
      await closed;
      return stream.rstCode === BROKEN ? ABNORMAL : `reset with ${stream.rstCode}`;
    };
  },
};

const endings: Record<string, (sockets: WebSocketServer) => void> = {
  'its sandbox is paused': () => net.pause(id, () => Promise.resolve()),
  'its sandbox is killed': () => net.end(id),
  'the server inside ends': (sockets) => {
    for (const socket of sockets.clients) socket.terminate();
  },
};

it.each(Object.keys(ways).flatMap((way) => Object.keys(endings).map((ending) => [way, ending] as const)))(
  'ends a WebSocket over %s when %s, and keeps nothing of it',
  async (way, ending) => {
    const server = await net.serve(id, 3000, (_request, response) => response.end());
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket) => socket.send('hello'));
    const fate = await ways[way]?.();
    endings[ending]?.(sockets);
    expect(await fate?.()).toBe(ABNORMAL);
    await expect.poll(() => [net.edge.openStreams(), sockets.clients.size]).toEqual([0, 0]);
  },
);

it.each([
  ['its sandbox ends', () => net.end(id)],
  ['the server inside breaks it off', (breakOff: () => void) => breakOff()],
])('resets a stream whose response has a length, without an end of the body, when %s', async (_when, end) => {
  const begun = Promise.withResolvers<() => void>();
  await net.serve(id, 3000, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half');
    begun.resolve(() => void response.destroy());
  });
  const raw = await RawHttp2.open({
    host: '127.0.0.1',
    port,
    servername: 'example.test',
    ca: certificate.cert,
  });
  const fields = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/'],
    [':authority', authority],
  ] as const;
  raw.send(toFrame(HEADERS, END_HEADERS | END_STREAM, 1, toFields(fields)));
  const ofBody = () => raw.frames.filter(({ type }) => type === DATA);
  await expect.poll(() => ofBody().length).toBe(1);
  end(await begun.promise);
  await expect.poll(() => raw.resets().get(1)).toBe(BROKEN);
  expect(ofBody().map(({ flags }) => flags & END_STREAM)).toEqual([0]);
  raw.socket.destroy();
});
