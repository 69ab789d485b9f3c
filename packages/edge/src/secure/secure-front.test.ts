import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http2';
import { get, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { host, id, net, useLoopback } from '../loopback-client.ts';
import {
  certificate,
  front,
  makeCertificate,
  openSession,
  port,
  read,
  session,
  useSecureFront,
} from './testing/secure-client.ts';
import { toWebSocketHeaders } from './testing/websocket-stream.ts';

useLoopback();
useSecureFront();

const authority = host(3000);
const ca = certificate.cert;

it('serves both versions of HTTP alike, as the client chooses', async () => {
  await net.serve(id, 3000, (req, res) => res.end(`${req.httpVersion} ${req.headers.host} ${req.url}`));
  const { headers, body } = await read(session.request({ ':authority': authority, ':path': '/a?b' }));
  expect(headers[':status']).toBe(200);
  const older = get({
    host: '127.0.0.1',
    port,
    ca,
    servername: 'example.test',
    path: '/a?b',
    headers: { host: authority },
  });
  const [answer] = await once(older, 'response');
  expect(answer.httpVersion).toBe('1.1');
  expect([body, await text(answer)]).toEqual(Array(2).fill(`1.1 ${authority} /a?b`));
});

it('passes a body of HTTP/2 on as it comes, in both directions', async () => {
  await net.serve(id, 3000, (req, res) => req.pipe(res));
  const stream = session.request({ ':method': 'POST', ':authority': authority });
  stream.write('first');
  const [first] = await once(stream, 'data');
  expect(String(first)).toBe('first');
  const big = randomBytes(8 << 20);
  stream.end(big);
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  await once(stream, 'end');
  expect(Buffer.concat(parts).equals(big)).toBe(true);
});

it('passes trailers and interim answers on', async () => {
  await net.serve(id, 3000, async (req, res) => {
    res.writeEarlyHints({ link: '</style.css>; rel=preload' });
    await text(req);
    res.writeHead(200, { trailer: 'x-sum' });
    res.write('body');
    res.addTrailers({ 'x-sum': `after ${req.trailers['x-mine']}` });
    res.end();
  });
  const stream = session.request(
    { ':method': 'POST', ':authority': authority, trailer: 'x-mine' },
    { waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-mine': 'the last' }));
  const hints = once(stream, 'headers');
  const trailers = once(stream, 'trailers');
  stream.end('given');
  expect((await hints)[0]).toMatchObject({ ':status': 103, link: '</style.css>; rel=preload' });
  stream.resume();
  expect((await trailers)[0]).toMatchObject({ 'x-sum': 'after the last' });
});

it('carries a hundred streams at once in one connection', async () => {
  const waiting: (() => void)[] = [];
  await net.serve(id, 3000, (_req, res) => {
    res.write('begun ');
    waiting.push(() => res.end('done'));
    if (waiting.length === 100) for (const finish of waiting) finish();
  });
  const answers = Array.from({ length: 100 }, () => read(session.request({ ':authority': authority })));
  expect(new Set((await Promise.all(answers)).map(({ body }) => body))).toEqual(new Set(['begun done']));
});

it('resets a stream when its sandbox ends, and leaves the connection to others', async () => {
  net.start('other');
  await net.serve('other', 3000, (_req, res) => res.end('alive'));
  await net.serve(id, 3000, (_req, res) => void res.write('half'));
  const stream = session.request({ ':authority': authority });
  const failed = new Promise((resolve) => stream.once('close', resolve));
  stream.on('error', () => undefined);
  await once(stream, 'data');
  net.end(id);
  await failed;
  expect(stream.rstCode).toBe(2);
  const { body } = await read(session.request({ ':authority': host(3000, 'other') }));
  expect(body).toBe('alive');
});

it('resets a connection of HTTP/1.1 when its sandbox ends', async () => {
  await net.serve(id, 3000, (_req, res) => void res.write('half'));
  const older = get({
    host: '127.0.0.1',
    port,
    ca,
    servername: 'example.test',
    headers: { host: authority },
  });
  older.on('error', () => undefined);
  const [answer] = await once(older, 'response');
  await once(answer, 'data');
  net.end(id);
  const [error] = await once(answer, 'error');
  expect(error.code).toBe('ECONNRESET');
});

it('answers before the body of a request has begun, and closes the request inside when the client resets its stream', async () => {
  let closed: Promise<unknown> | undefined;
  await net.serve(id, 3000, (req, res) => {
    closed = once(res, 'close');
    req.on('error', () => undefined);
    res.write('begun');
  });
  const stream = session.request({ ':method': 'POST', ':authority': authority });
  await once(stream, 'data');
  stream.close(8);
  await closed;
});

const serveEcho = async (): Promise<WebSocketServer> => {
  const server = await net.serve(id, 3000, (_req, res) => res.end('no change'));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) =>
    socket.on('message', (data: Buffer) => socket.send(`echo ${data.toString()}`)),
  );
  return sockets;
};
const asWebSocket = toWebSocketHeaders(authority);

it('keeps a WebSocket over HTTP/1.1', async () => {
  await serveEcho();
  const options = { ca, servername: 'example.test', headers: { host: authority } };
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, [], options);
  await once(socket, 'open');
  socket.send('one');
  expect(String((await once(socket, 'message'))[0])).toBe('echo one');
  socket.terminate();
});

/** A text frame of RFC 6455 with a mask of zeros. */
const frame = (content: string): Buffer =>
  Buffer.concat([Buffer.from([0x81, 0x80 | content.length, 0, 0, 0, 0]), Buffer.from(content)]);

it('keeps a WebSocket in a stream of HTTP/2 beside others', async () => {
  const sockets = await serveEcho();
  const stream = session.request(asWebSocket);
  const [headers] = await once(stream, 'response');
  expect(headers).toMatchObject({ ':status': 200 });
  expect(headers).not.toHaveProperty('sec-websocket-accept');
  stream.write(frame('two'));
  const [answer] = await once(stream, 'data');
  expect(String(answer.subarray(2))).toBe('echo two');
  expect((await read(session.request({ ':authority': authority }))).body).toBe('no change');
  stream.close(8);
  await expect.poll(() => sockets.clients.size).toBe(0);
});

it('refuses a WebSocket in a stream where no server inside takes it', async () => {
  await net.serve(id, 3000, (_req, res) => res.end('an ordinary page'));
  const { headers } = await read(session.request(asWebSocket));
  expect(headers[':status']).toBe(502);
});

it.each<[string, OutgoingHttpHeaders, number]>([
  ['for a connection', { ':method': 'CONNECT', ':authority': '127.0.0.1:22' }, 405],
  ['for another protocol', { ...asWebSocket, ':protocol': 'connect-udp' }, 501],
  ['with a length', { ...asWebSocket, 'content-length': '2' }, 400],
])(
  'refuses CONNECT %s in a stream, and ends the connection of HTTP/2 after it',
  async (_what, head, status) => {
    await net.serve(id, 3000, (_req, res) => res.end('an ordinary page'));
    const closed = once(session, 'close');
    const [headers] = await once(session.request(head), 'response');
    expect(headers[':status']).toBe(status);
    await closed;
  },
);

it('gives new connections a changed certificate, and loses nothing of those that are open', async () => {
  await net.serve(id, 3000, (req, res) => req.pipe(res));
  const stream = session.request({ ':method': 'POST', ':authority': authority });
  stream.write('before ');
  await once(stream, 'data');
  const next = makeCertificate();
  front.setCertificate(next);
  const later = await openSession(next.cert);
  expect(later.destroyed).toBe(false);
  later.destroy();
  stream.end('after');
  expect(await text(stream)).toBe('after');
  expect(() => front.setCertificate({ cert: next.cert, key: certificate.key })).toThrow();
  (await openSession(next.cert)).destroy();
});

it('ends the connection inside when a client disconnects', async () => {
  let closed: Promise<unknown> | undefined;
  await net.serve(id, 3000, (_req, res) => {
    closed = once(res, 'close');
    res.write('begun');
  });
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    ca,
    servername: 'example.test',
    ALPNProtocols: ['http/1.1'],
  });
  socket.write(`GET / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  await once(socket, 'data');
  socket.destroy();
  await closed;
});

it('takes a large upload whose length is known', async () => {
  await net.serve(id, 3000, async (req, res) => {
    let size = 0;
    for await (const part of req) size += (part as Buffer).length;
    res.end(`${size} ${req.headers['content-length']}`);
  });
  const body = randomBytes(3 << 20);
  const older = request({
    host: '127.0.0.1',
    port,
    ca,
    servername: 'example.test',
    method: 'PUT',
    headers: { host: authority, 'content-length': body.length },
  });
  older.end(body);
  const [answer] = await once(older, 'response');
  const stream = session.request({
    ':method': 'PUT',
    ':authority': authority,
    'content-length': body.length,
  });
  stream.end(body);
  expect([await text(answer), (await read(stream)).body]).toEqual(
    Array(2).fill(`${body.length} ${body.length}`),
  );
});
