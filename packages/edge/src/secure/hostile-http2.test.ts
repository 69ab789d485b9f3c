import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { host, id, net, useLoopback } from '../loopback-client.ts';
import { http2Bounds } from './http2-server.ts';
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  RawHttp2,
  RST_STREAM,
  toFields,
  toFrame,
} from './testing/raw-http2.ts';
import { certificate, port, read, session, useSecureFront } from './testing/secure-client.ts';

useLoopback();
useSecureFront();

const authority = host(3000);
const head = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', authority],
] as const;
const get = [[':method', 'GET'], ...head.slice(1)] as const;

let raw: RawHttp2;
/** What the server inside has received: the heads, and how each body ended. */
let inside: { path: string; headers: string[]; body: string }[];
beforeEach(async () => {
  inside = [];
  await net.serve(id, 3000, async (req, res) => {
    const body = await text(req).catch(() => 'broken');
    inside.push({ path: req.url ?? '', headers: req.rawHeaders, body });
    res.end(body);
  });
  raw = await RawHttp2.open({ host: '127.0.0.1', port, servername: 'example.test', ca: certificate.cert });
});
afterEach(() => raw.socket.destroy());

/** Sees that the connection, or another one, still gets what it asks for. */
const expectService = async (): Promise<void> => {
  const { headers } = await read(session.request({ ':authority': authority, ':path': '/after' }));
  expect(headers[':status']).toBe(200);
};

describe('a request that HTTP/1 would read differently', () => {
  it.each<[string, string, string]>([
    ['a length by chunks', 'transfer-encoding', 'chunked'],
    ['a field of the connection', 'connection', 'content-length'],
    ['a change of the protocol', 'upgrade', 'websocket'],
    ['another field of the connection', 'proxy-connection', 'keep-alive'],
    ['a second length', 'content-length', '3'],
    ['a path with a line end', ':path', '/ HTTP/1.1\r\nhost: other\r\n'],
  ])('does not reach the server inside with %s', async (_what, name, value) => {
    const fields = [...head, ['content-length', '0'], [name, value]] as const;
    raw.send(toFrame(HEADERS, END_HEADERS | END_STREAM, 1, toFields(fields)));
    await expect.poll(() => raw.hasRefused(1)).toBe(true);
    await expectService();
    expect(inside.map(({ path }) => path)).toEqual(['/after']);
  });

  it.each<[string, string, string]>([
    ['a line end in a value', 'x-one', 'a\r\ntransfer-encoding: chunked'],
    ['a line end in a name', 'x-one: a\r\nx-two', 'b'],
    ['a name with a space', 'x one', 'b'],
    ['a NUL in a value', 'x-one', 'a\0b'],
    ['a name in capitals', 'X-One', 'b'],
    ['a field that continues on the next line', 'x-one', 'a\r\n folded'],
  ])('reaches the server inside without %s', async (_what, name, value) => {
    const fields = [...head, ['content-length', '0'], [name, value]] as const;
    raw.send(toFrame(HEADERS, END_HEADERS | END_STREAM, 1, toFields(fields)));
    await expect.poll(() => inside.length || raw.resets().size).toBe(1);
    await expectService();
    const received = inside.flatMap(({ headers }) => headers).join('|');
    expect(received.toLowerCase()).not.toMatch(/x.one|transfer-encoding|folded/);
    expect(inside.map(({ path }) => path).filter((path) => path !== '/')).toEqual(['/after']);
  });

  it.each([
    ['longer', '2'],
    ['shorter', '400'],
  ])('ends with its stream when its body is %s than announced', async (_what, length) => {
    const fields = [...head, ['content-length', length]] as const;
    const smuggled = Buffer.from(`ab\r\nGET /smuggled HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    raw.send(toFrame(HEADERS, END_HEADERS, 1, toFields(fields)), toFrame(DATA, END_STREAM, 1, smuggled));
    await expect.poll(() => raw.hasRefused(1)).toBe(true);
    await expectService();
    expect(inside.map(({ path }) => path)).not.toContain('/smuggled');
    expect(inside.filter(({ body }) => body.includes('smuggled'))).toEqual([]);
  });

  it('is refused with two names of hosts', async () => {
    const { headers } = await read(session.request({ ':authority': authority, host: host(3000, 'other') }));
    expect(headers[':status']).toBe(400);
    expect(inside).toEqual([]);
  });

  it('reaches the server inside with one field of cookies, which HTTP/2 may split', async () => {
    const fields = [...get, ['cookie', 'a=1'], ['cookie', 'b=2']] as const;
    raw.send(toFrame(HEADERS, END_HEADERS | END_STREAM, 1, toFields(fields)));
    await expect.poll(() => inside.length).toBe(1);
    expect(inside[0]?.headers.join('|')).toContain('cookie|a=1; b=2');
  });
});

describe('a connection of HTTP/2', () => {
  it('ends when a head goes on in frames without end', async () => {
    const field = toFields([['x-filler', 'x'.repeat(1_000)]]);
    raw.send(toFrame(HEADERS, END_STREAM, 1, toFields(get)));
    let sent = 0;
    const flood = setInterval(() => {
      sent += 1;
      if (!raw.socket.destroyed) raw.send(toFrame(CONTINUATION, 0, 1, field));
    }, 1);
    await raw.closed;
    clearInterval(flood);
    expect(sent).toBeLessThan(200);
    await expectService();
  });

  it('refuses a head that is larger than the bound', async () => {
    const fields = Array.from({ length: 7 }, (_, index) => [`x-${index}`, 'x'.repeat(10_000)] as const);
    const all = toFields([...get, ...fields]);
    const size = 16_000;
    const parts = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
      all.subarray(at * size, (at + 1) * size),
    );
    expect(all.length).toBeGreaterThan(http2Bounds.headerBytes);
    raw.send(
      ...parts.map((part, at) =>
        toFrame(
          at === 0 ? HEADERS : CONTINUATION,
          (at === 0 ? END_STREAM : 0) | (at === parts.length - 1 ? END_HEADERS : 0),
          1,
          part,
        ),
      ),
    );
    await expect.poll(() => raw.hasRefused(1)).toBe(true);
    await expectService();
    expect(inside.map(({ path }) => path)).toEqual(['/after']);
  });

  it('ends when a client opens and resets streams faster than the bound', async () => {
    const cancel = Buffer.from([0, 0, 0, 8]);
    const streams = 3 * http2Bounds.resetBurst;
    for (let stream = 1; stream < 2 * streams; stream += 2)
      raw.send(
        toFrame(HEADERS, END_HEADERS | END_STREAM, stream, toFields(get)),
        toFrame(RST_STREAM, 0, stream, cancel),
      );
    await raw.closed;
    expect(net.edge.openStreams()).toBeLessThanOrEqual(1);
    await expectService();
  });

  it('has no more streams at a time than the bound', async () => {
    for (let stream = 1; stream < 2 * (http2Bounds.streams + 50); stream += 2)
      raw.send(toFrame(HEADERS, END_HEADERS, stream, toFields(head)));
    await expect.poll(() => raw.resets().size).toBe(50);
    expect(new Set(raw.resets().values())).toEqual(new Set([7]));
    raw.socket.destroy();
    await expect.poll(() => net.edge.openStreams()).toBe(0);
    await expectService();
  });
});

describe('a connection of HTTP/1.1 over TLS', () => {
  it.each([
    ['a length beside chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a bare line feed', 'X-One: a\nTransfer-Encoding: chunked\r\n'],
    ['a length on a line that continues', 'Content-Length:\r\n 4\r\nTransfer-Encoding: chunked\r\n'],
  ])('is refused with %s', async (_what, lines) => {
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      ca: certificate.cert,
      servername: 'example.test',
      ALPNProtocols: ['http/1.1'],
    });
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${authority}\r\n${lines}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
    expect(inside).toEqual([]);
  });
});
