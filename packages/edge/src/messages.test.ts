import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { host, id, net, raw, useLoopback } from './loopback-client.ts';

useLoopback();

/** Fields that each connection has of its own. The order of fields of different names has no meaning. */
const ownFields = ['connection', 'date', 'keep-alive', 'transfer-encoding', 'te'];

const toFields = (rawHeaders: readonly string[]): string[] =>
  rawHeaders
    .flatMap((name, index) =>
      index % 2 === 0 && !ownFields.includes(name.toLowerCase())
        ? [`${name.toLowerCase()}: ${rawHeaders[index + 1]}`]
        : [],
    )
    .toSorted((one, other) => (toName(one) < toName(other) ? -1 : 1));

const toName = (field: string): string => field.slice(0, field.indexOf(':'));

/** What a server and its client have seen of one exchange, in its order. */
const seeExchange = async (
  serve: Parameters<typeof net.serve>[2],
  options: RequestOptions,
  { pieces = [], trailers = {} }: { pieces?: string[]; trailers?: Record<string, string> } = {},
) => {
  const seen: { through: unknown[]; direct: unknown[] } = { through: [], direct: [] };
  let current = seen.through;
  const inside = await net.serve(id, 3000, async (req, res) => {
    const log = current;
    log.push([req.method, req.url, toFields(req.rawHeaders), req.headers.te]);
    if (req.headers.expect === undefined || req.complete) log.push([await text(req), req.rawTrailers]);
    await serve(req, res);
  });
  for (const way of ['through', 'direct'] as const) {
    current = seen[way];
    const log = current;
    const port = way === 'through' ? net.port : (inside.address() as AddressInfo).port;
    const client = request({
      ...{ host: '127.0.0.1', port, agent: false },
      ...options,
      headers: Object.assign({ host: host(3000) }, options.headers),
    });
    client.on('information', (info) =>
      log.push([info.statusCode, info.statusMessage, toFields(info.rawHeaders)]),
    );
    const answered = once(client, 'response') as Promise<[IncomingMessage]>;
    for (const piece of pieces) client.write(piece);
    client.addTrailers(trailers);
    client.end();
    const [answer] = await answered;
    log.push([answer.statusCode, answer.statusMessage, toFields(answer.rawHeaders)]);
    log.push([await text(answer), answer.rawTrailers]);
  }
  return seen;
};

describe('what HTTP carries through a preview is what a direct connection carries', () => {
  it('interim answers of every kind, before the answer', async () => {
    const { through, direct } = await seeExchange(
      (_req, res) => {
        res.writeProcessing();
        res.writeEarlyHints({ link: ['</a.css>; rel=preload', '</b.js>; rel=preload'], 'x-trace': 'one' });
        res.socket?.write('HTTP/1.1 110 Response Is Stale\r\nX-Age: 7\r\nX-Age: 8\r\n\r\n');
        res.end('done');
      },
      { path: '/early?a=b' },
    );
    expect(through).toEqual(direct);
    expect(through.slice(2, 5)).toEqual([
      [102, 'Processing', []],
      [103, 'Early Hints', [expect.stringContaining('</b.js>'), 'x-trace: one']],
      [110, 'Response Is Stale', ['x-age: 7', 'x-age: 8']],
    ]);
  });

  it('trailers of an answer, with their announcement', async () => {
    const { through, direct } = await seeExchange((_req, res) => {
      res.writeHead(200, ['Trailer', 'X-Sum, X-Sum', 'Content-Type', 'application/grpc']);
      res.write('body');
      res.addTrailers([
        ['X-Sum', 'one'],
        ['X-Sum', 'two'],
        ['grpc-status', '0'],
      ]);
      res.end();
    }, {});
    expect(through).toEqual(direct);
    expect(through.at(-1)).toEqual(['body', ['X-Sum', 'one', 'X-Sum', 'two', 'grpc-status', '0']]);
  });

  it('trailers of a request, and that its client takes them', async () => {
    const { through, direct } = await seeExchange(
      (_req, res) => res.end('done'),
      { method: 'POST', headers: { trailer: 'X-Sum', te: 'trailers', 'transfer-encoding': 'chunked' } },
      { pieces: ['one', 'two'], trailers: { 'X-Sum': '3' } },
    );
    expect(through).toEqual(direct);
    expect(through[0]).toMatchObject({ 0: 'POST', 3: 'trailers' });
    expect(through[1]).toEqual(['onetwo', ['X-Sum', '3']]);
  });

  it.each(['HEAD', 'GET'])('an answer to %s that announces trailers and has none', async (method) => {
    const { through, direct } = await seeExchange(
      (_req, res) => {
        res.writeHead(method === 'GET' ? 304 : 200, { etag: '"a"' });
        res.end();
      },
      { method },
    );
    expect(through).toEqual(direct);
  });

  it('no field in a trailer that would change how the answer is read', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () =>
        socket.end(
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nAuthorization: a\r\nSet-Cookie: a=b\r\n\r\n',
        ),
      );
    });
    const answer = await raw(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n$/);
  });

  it('an answer to HEAD that says chunked and announces trailers', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () =>
        socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nX-A: b\r\n\r\n'),
      );
    });
    const answer = await raw(`HEAD / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nX-A: b\r\n/);
  });

  it('no interim answer to a client of HTTP/1.0', async () => {
    await net.serve(id, 3000, (_req, res) => {
      res.writeProcessing();
      res.end('done');
    });
    expect(await raw(`GET / HTTP/1.0\r\nHost: ${host(3000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('an interim answer before an upgrade', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n');
        socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nhello');
      });
    });
    const answer = await raw(
      `GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n`,
    );
    expect(answer).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nX-A: b\r\n\r\nHTTP\/1\.1 101 Switching Protocols\r\n[\s\S]*\r\n\r\nhello$/,
    );
  });
});
