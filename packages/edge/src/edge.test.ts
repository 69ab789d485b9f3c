import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Loopback, startLoopback } from './loopback.ts';

const id = 'i0123456789abcdefghij';
const host = (port: number, sandboxId = id): string => `${port}-${sandboxId}.example.test`;
const agentHost = host(49_983);

let net: Loopback;
beforeEach(async () => {
  net = await startLoopback();
  net.start(id);
});
afterEach(() => net[Symbol.asyncDispose]());

const send = (options: RequestOptions, body?: string | Buffer): ClientRequest => {
  const client = request({ host: '127.0.0.1', port: net.port, agent: false, ...options });
  client.end(body);
  return client;
};
const answerTo = async (client: ClientRequest): Promise<IncomingMessage> => {
  const [answer] = (await once(client, 'response')) as [IncomingMessage];
  return answer;
};
const ask = async (headers: Record<string, string>, options: RequestOptions = {}, body?: string | Buffer) => {
  const answer = await answerTo(send({ headers, ...options }, body));
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
};
/** Writes bytes to the edge and returns all that comes back until the connection ends. */
const raw = async (bytes: string): Promise<string> => {
  const socket = connect({ port: net.port, host: '127.0.0.1' });
  socket.write(bytes);
  return text(socket);
};

describe('errors', () => {
  it('answers 502 with both spellings of the id when the sandbox is unknown', async () => {
    const answer = await ask({ host: host(49_983, 'iunknown') });
    expect(answer.status).toBe(502);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: 'iunknown',
      sandboxId: 'iunknown',
      message: 'The sandbox was not found',
      code: 502,
    });
  });

  it('answers 502 with the port after a second of trying when nothing listens', async () => {
    const begin = performance.now();
    const answer = await ask({ host: host(3000) });
    expect(performance.now() - begin).toBeGreaterThan(900);
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: id,
      sandboxId: id,
      message: 'The sandbox is running but port is not open',
      port: 3000,
      code: 502,
    });
  });

  it('reaches a server that starts to listen half a second after the request, with the whole body', async () => {
    const body = randomBytes(300_000);
    const pending = ask({ host: host(3000) }, { method: 'POST' }, body);
    await delay(400);
    await net.serve(id, 3000, (req, res) => {
      const hash = createHash('sha256');
      req.on('data', (chunk: Buffer) => hash.update(chunk)).on('end', () => res.end(hash.digest('hex')));
    });
    const answer = await pending;
    expect(answer.text).toBe(createHash('sha256').update(body).digest('hex'));
  });

  it('answers 502 when the server inside breaks off before an answer', async () => {
    await net.serveTcp(id, 3000, (socket) => socket.once('data', () => socket.destroy()));
    const answer = await ask({ host: host(3000) });
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text)).toMatchObject({ sandboxId: id, port: 3000, code: 502 });
  });

  it('answers 502 and lives on when the server inside does not speak HTTP', async () => {
    await net.serveTcp(id, 3000, (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    await net.serveTcp(id, 3001, (socket) => socket.end('HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'));
    await net.serveTcp(id, 3002, (socket) => socket.end('HTTP/1.1 200 a\x01b\r\nContent-Length: 0\r\n\r\n'));
    await net.serveTcp(id, 3003, (socket) =>
      socket.end('HTTP/1.1 101 No\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    for (const port of [3000, 3001, 3002, 3003])
      expect(await ask({ host: host(port) }), `port ${port}`).toMatchObject({ status: 502 });
  });

  it('answers 502 to one Continue at most when the server inside sends interim answers for ever', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      const flood = (): void =>
        void socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000), (error) => error ?? flood());
      socket.on('error', () => socket.destroy()).once('data', flood);
    });
    const answer = await raw(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n\r\n`);
    expect(answer.match(/100 Continue/g)).toHaveLength(1);
    expect(answer).toContain('HTTP/1.1 502 Bad Gateway');
  });

  it.each([
    '/init',
    '//init',
    '/x/../init',
    '/init/',
    '/%69nit?a=b',
    '/freeze',
    '/unfreeze',
    '/collapse',
    '/fsfreeze',
    '/fsthaw',
    '/upgrade',
  ])('answers 404 for the internal route %s of the agent without asking for the sandbox', async (path) => {
    const answer = await ask({ host: host(49_983, 'iunknown') }, { path, method: 'POST' });
    expect(answer.status).toBe(404);
    const body = JSON.parse(answer.text) as { path: string; message: string; code: number };
    expect(body).toEqual({
      message: expect.any(String),
      path: expect.stringMatching(/^\/[a-z]+$/),
      code: 404,
    });
  });

  it('passes the path /init on when it is for another port', async () => {
    await net.serve(id, 3000, (req, res) => res.end(req.url));
    expect((await ask({ host: host(3000) }, { path: '/init' })).text).toBe('/init');
  });

  it.each([
    ['0-iabc.example.test'],
    ['65536-iabc.example.test'],
    ['123456789-iabc.example.test'],
    ['abc-iabc.example.test'],
    ['-iabc.example.test'],
    ['3000-.example.test'],
    ['3000-i_a.example.test'],
    ['3000-iabc'],
    ['sandbox.example.test'],
  ])('answers 400 with a short text for the host %s', async (name) => {
    const answer = await ask({ host: name });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.text.length).toBeLessThan(100);
  });

  it.each([
    [{ 'e2b-sandbox-id': id }],
    [{ 'e2b-sandbox-port': '49983' }],
    [{ 'e2b-sandbox-id': id, 'e2b-sandbox-port': 'x' }],
    [{ 'e2b-sandbox-id': '../x', 'e2b-sandbox-port': '80' }],
  ])('answers 400 for the routing headers %j', async (headers) => {
    const answer = await ask({ host: 'localhost', ...headers } as Record<string, string>);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
  });

  const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', accept: 'text/html,*/*' };

  it('answers a navigating browser with a page that names id and port', async () => {
    const answer = await ask({ host: host(3000, 'iunknown'), ...browser, 'sec-fetch-mode': 'navigate' });
    expect(answer.status).toBe(502);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('iunknown');
    expect(answer.text).toContain('3000');
  });

  it.each([
    [{ ...browser, 'sec-fetch-mode': 'cors' }],
    [{ ...browser, accept: 'application/json' }],
    [{ 'user-agent': 'curl/8', accept: '*/*' }],
  ])('answers with JSON when it is not a navigation: %j', async (headers) => {
    const answer = await ask({ host: host(3000, 'iunknown'), ...headers });
    expect(answer.headers['content-type']).toBe('application/json');
  });
});

describe('routing', () => {
  const echoHost = () => net.serve(id, 3000, (req, res) => res.end(`${req.headers.host}|${req.url}`));

  it('passes the Host header and the path on unchanged', async () => {
    await echoHost();
    const name = `3000-${id}.example.test:8443`;
    expect((await ask({ host: name }, { path: '/a//b%2F?c=%20' })).text).toBe(`${name}|/a//b%2F?c=%20`);
  });

  it.each(['localhost:1234', '127.0.0.1', '[::1]:80', 'sandbox.example.test', 'shared.test'])(
    'follows the routing headers on the shared host %s',
    async (name) => {
      await echoHost();
      const answer = await ask({ host: name, 'e2b-sandbox-id': id, 'e2b-sandbox-port': '3000' });
      expect(answer.text).toBe(`${name}|/`);
    },
  );

  it('ignores the routing headers where the host name decides', async () => {
    await echoHost();
    const answer = await ask({ host: host(3000), 'e2b-sandbox-id': 'iother', 'e2b-sandbox-port': '1' });
    expect(answer.status).toBe(200);
  });

  it('refuses what two servers could read differently', async () => {
    await echoHost();
    const head = `Host: ${host(3000)}\r\nConnection: close\r\n`;
    const refused = [
      `GET http://${host(1)}/ HTTP/1.1\r\n${head}\r\n`,
      `GET / HTTP/1.1\r\n${head}Host: ${host(1)}\r\n\r\n`,
      `POST / HTTP/1.1\r\n${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      `POST / HTTP/1.1\r\n${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    ];
    for (const bytes of refused) expect(await raw(bytes), bytes).toMatch(/^HTTP\/1\.1 400 /);
    expect(net.dialled).toEqual([]);
  });

  it('keeps the framing of a body even when Connection names Content-Length', async () => {
    await net.serve(id, 3000, async (req, res) =>
      res.end(`${await text(req)}|${req.headers['content-length']}`),
    );
    const body = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const bytes = `GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close, content-length\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect(await raw(bytes)).toContain(`${body}|${body.length}`);
  });
});

describe('headers', () => {
  it('drops hop-by-hop fields both ways and keeps repeated ones', async () => {
    let seen: string[] = [];
    await net.serve(id, 3000, (req, res) => {
      seen = req.rawHeaders;
      res.writeHead(203, 'Fine', [
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
        'X-Secret',
        'q',
        'Connection',
        'close, X-Secret',
      ]);
      res.end();
    });
    const answer = await answerTo(
      send({
        headers: {
          host: host(3000),
          'X-Up': ['1', '2'],
          'X-Hop': 'h',
          Connection: 'close, X-Hop',
          TE: 'gzip',
        },
      }),
    );
    answer.resume();
    expect(answer.statusMessage).toBe('Fine');
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.headers).not.toHaveProperty('x-secret');
    expect(seen.filter((_, index) => index % 2 === 0)).toEqual(['host', 'X-Up', 'X-Up', 'Connection']);
  });

  it('passes 12 KB of headers to the server inside and 40 KB back', async () => {
    await net.serve(id, 3000, (req, res) => {
      res.setHeader('X-Long', String(req.headers['x-long']).toUpperCase());
      res.end();
    });
    // The server inside has Node's own limit of 16 KB on requests.
    const long = 'a'.repeat(12_000);
    const answer = await ask({ host: host(3000), 'x-long': long }, { maxHeaderSize: 65_536 });
    expect(answer.headers['x-long']).toBe(long.toUpperCase());
    await net.serve(id, 3001, (_req, res) => {
      for (let index = 0; index < 4; index++) res.setHeader(`X-Long-${index}`, 'b'.repeat(10_000));
      res.end();
    });
    const other = await ask({ host: host(3001) }, { maxHeaderSize: 65_536 });
    expect(other.headers['x-long-3']).toBe('b'.repeat(10_000));
  });

  it('sends a POST without a body as one of length 0, and a GET without any length', async () => {
    await net.serve(id, 3000, (req, res) =>
      res.end(`${req.headers['content-length']}|${req.headers['transfer-encoding']}`),
    );
    expect(await raw(`POST / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n\r\n`)).toContain(
      '0|undefined',
    );
    expect((await ask({ host: host(3000) })).text).toBe('undefined|undefined');
  });

  it('answers HEAD with the length and no body, on a connection that stays usable', async () => {
    await net.serve(id, 3000, (_req, res) => {
      res.setHeader('Content-Length', 5);
      res.end('hello');
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const head = await ask({ host: host(3000) }, { method: 'HEAD', agent });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe('5');
    expect((await ask({ host: host(3000) }, { agent })).text).toBe('hello');
    agent.destroy();
  });

  it('lets the server inside decide about Expect: 100-continue', async () => {
    const inside = await net.serve(id, 3000, (_req, res) => res.end());
    inside.on('checkContinue', (req: IncomingMessage, res) => {
      if (req.headers['x-go'] === 'yes') {
        res.writeContinue();
        void text(req).then((body) => res.end(`got ${body}`));
      } else {
        res.writeHead(417);
        res.end();
      }
    });
    const start = (go: string): ClientRequest => {
      const client = request({
        host: '127.0.0.1',
        port: net.port,
        agent: false,
        method: 'POST',
        headers: { host: host(3000), expect: '100-continue', 'x-go': go, 'content-length': 4 },
      });
      client.flushHeaders();
      return client;
    };
    const refused = start('no');
    let continued = false;
    refused.on('continue', () => {
      continued = true;
    });
    expect((await answerTo(refused)).statusCode).toBe(417);
    expect(continued).toBe(false);
    refused.destroy();

    const accepted = start('yes');
    await once(accepted, 'continue');
    accepted.end('body');
    expect(await text(await answerTo(accepted))).toBe('got body');
  });
});

describe('streams', () => {
  it('delivers the head and each event of an answer while the server inside is still writing', async () => {
    const steps: (() => void)[] = [];
    await net.serve(id, 3000, (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
      steps.push(
        () => res.write('data: 1\n\n'),
        () => res.write('data: 2\n\n'),
        () => res.end(),
      );
    });
    const answer = await answerTo(send({ headers: { host: host(3000) } }));
    const chunks = answer[Symbol.asyncIterator]();
    steps[0]?.();
    expect(String((await chunks.next()).value)).toBe('data: 1\n\n');
    steps[1]?.();
    expect(String((await chunks.next()).value)).toBe('data: 2\n\n');
    steps[2]?.();
    expect((await chunks.next()).done).toBe(true);
  });

  it('delivers each part of a request while the client is still sending, and an answer before it ends', async () => {
    const arrived: string[] = [];
    await net.serve(id, 3000, (req, res) => {
      res.flushHeaders();
      req.on('data', (chunk: Buffer) => {
        arrived.push(String(chunk));
        res.write(`ack ${String(chunk)}`);
      });
      req.on('end', () => res.end());
    });
    const client = request({
      host: '127.0.0.1',
      port: net.port,
      agent: false,
      method: 'POST',
      headers: { host: host(3000) },
    });
    client.write('one');
    const answer = await answerTo(client);
    const chunks = answer[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe('ack one');
    client.write('two');
    expect(String((await chunks.next()).value)).toBe('ack two');
    expect(arrived).toEqual(['one', 'two']);
    client.end();
    expect((await chunks.next()).done).toBe(true);
  });

  it.each(['with a length', 'chunked'])('carries 100 MB each way unchanged, %s', async (framing) => {
    const part = randomBytes(1 << 20);
    const parts = 100;
    const expected = createHash('sha256');
    for (let index = 0; index < parts; index++) expected.update(part);
    const digest = expected.digest('hex');
    const length = framing === 'chunked' ? {} : { 'content-length': parts * part.length };
    const write = async (stream: NodeJS.WritableStream): Promise<void> => {
      for (let index = 0; index < parts; index++) if (!stream.write(part)) await once(stream, 'drain');
      stream.end();
    };
    const hashOf = async (stream: AsyncIterable<Buffer>): Promise<string> => {
      const hash = createHash('sha256');
      for await (const chunk of stream) hash.update(chunk);
      return hash.digest('hex');
    };
    await net.serve(id, 49_983, async (req, res) => {
      if (req.method === 'POST') res.end(await hashOf(req));
      else {
        res.writeHead(200, length);
        await write(res);
      }
    });
    expect(await hashOf(await answerTo(send({ headers: { host: agentHost } })))).toBe(digest);
    const upload = request({
      host: '127.0.0.1',
      port: net.port,
      agent: false,
      method: 'POST',
      headers: { host: agentHost, ...length },
    });
    const [answer] = await Promise.all([answerTo(upload), write(upload)]);
    expect(await text(answer)).toBe(digest);
  });

  it('holds the server inside back while the client does not read', async () => {
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    function* endless(): Generator<Buffer> {
      for (;;) {
        written += chunk.length;
        yield chunk;
      }
    }
    await net.serve(id, 3000, (_req, res) => Readable.from(endless()).pipe(res));
    const answer = await answerTo(send({ headers: { host: host(3000) } }));
    answer.pause();
    await delay(500);
    const before = written;
    await delay(300);
    expect(written).toBe(before);
    expect(written).toBeLessThan(32 << 20);
    answer.destroy();
  });

  it('passes an early answer on and keeps the connection usable when the body is not read inside', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'),
      );
    });
    await net.serve(id, 3001, (_req, res) => res.end('next'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answer = await ask({ host: host(3000) }, { method: 'POST', agent }, Buffer.alloc(5 << 20));
    expect(answer).toMatchObject({ status: 413, text: 'no' });
    expect((await ask({ host: host(3001) }, { agent })).text).toBe('next');
    agent.destroy();
  });
});

describe('ends', () => {
  /** Resolves with the error code of the connection, or `end` when it ended properly. */
  const fate = (socket: Socket): Promise<string> =>
    new Promise((resolve) => {
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      socket.on('end', () => resolve('end'));
    });

  const openStream = async (): Promise<{ client: ClientRequest; answer: IncomingMessage }> => {
    const client = send({ headers: { host: host(3000) } });
    client.on('error', () => {});
    const answer = await answerTo(client);
    answer.on('error', () => {});
    return { client, answer };
  };

  it('resets the connection of every request under way when the run ends, then answers 502', async () => {
    await net.serve(id, 3000, (req, res) => {
      if (req.url === '/stream') res.write('first');
    });
    const sockets = ['/stream', '/silent'].map((path) => {
      const socket = connect({ port: net.port, host: '127.0.0.1' });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host(3000)}\r\n\r\n`);
      return socket;
    });
    await once(sockets[0] as Socket, 'data');
    while (net.dialled.length < 2) await delay(5);
    const fates = Promise.all(sockets.map(fate));
    net.end(id);
    expect(await fates).toEqual(['ECONNRESET', 'ECONNRESET']);
    expect(await ask({ host: agentHost }, { path: '/health' })).toMatchObject({ status: 502 });
  });

  it('resets a connection on which the first of two requests has been answered', async () => {
    await net.serve(id, 3000, (req, res) => {
      if (req.url === '/first') res.end('done');
      else res.write('never ends');
    });
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${host(3000)}\r\n\r\n`;
    socket.write(ask('/first') + ask('/second'));
    let seen = '';
    socket.on('data', (chunk) => {
      seen += String(chunk);
    });
    await expect.poll(() => seen).toContain('never ends');
    const end = fate(socket);
    net.end(id);
    expect(await end).toBe('ECONNRESET');
  });

  it('resets an upgraded connection when the run ends', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    });
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
    await once(socket, 'data');
    const end = fate(socket);
    net.end(id);
    expect(await end).toBe('ECONNRESET');
  });

  it('leaves the connections of other sandboxes alone', async () => {
    net.start('iother');
    await net.serve('iother', 3000, (_req, res) => {
      res.write('first');
      setTimeout(() => res.end('second'), 200);
    });
    const pending = ask({ host: host(3000, 'iother') });
    await delay(50);
    net.end(id);
    expect((await pending).text).toBe('firstsecond');
  });

  it('resets the client when the server inside breaks off in the middle of an answer', async () => {
    await net.serve(id, 3000, (_req, res) => {
      res.write('half');
      setTimeout(() => res.destroy(), 50);
    });
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\n\r\n`);
    expect(await fate(socket)).toBe('ECONNRESET');
  });

  it('closes the connection inside when the client goes away, in an answer and in an upload', async () => {
    const closed: string[] = [];
    const inside = await net.serve(id, 3000, (req, res) => {
      req.on('error', () => {});
      if (req.method === 'GET') res.write('first');
      else req.resume();
      req.socket.on('close', () => closed.push(req.method ?? ''));
    });
    const { client } = await openStream();
    client.destroy();
    const upload = request({
      host: '127.0.0.1',
      port: net.port,
      agent: false,
      method: 'POST',
      headers: { host: host(3000) },
    });
    upload.on('error', () => {});
    upload.write('part');
    while (net.dialled.length < 2) await delay(5);
    upload.destroy();
    await expect.poll(() => closed.toSorted()).toEqual(['GET', 'POST']);
    expect(await new Promise((resolve) => inside.getConnections((_error, count) => resolve(count)))).toBe(0);
  });

  it('never uses a connection of one run or sandbox for another', async () => {
    net.start('iother');
    const listener = (sandboxId: string) => net.serve(sandboxId, 3000, (_req, res) => res.end(sandboxId));
    await listener(id);
    await listener('iother');
    for (const each of [id, 'iother', id, 'iother'])
      expect((await ask({ host: host(3000, each) })).text).toBe(each);
    expect(net.dialled.map((each) => each.sandboxId)).toEqual([id, 'iother']);
    net.start(id);
    await net.serve(id, 3000, (_req, res) => res.end('second run'));
    expect((await ask({ host: host(3000) })).text).toBe('second run');
    expect(net.dialled.length).toBe(3);
    expect(new Set(net.dialled.map((each) => each.runId)).size).toBe(3);
  });

  it('asks again on a new connection when the server inside has closed the kept one', async () => {
    const inside = await net.serveTcp(id, 3000, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        socket.once('data', () => socket.resetAndDestroy());
      });
    });
    expect((await ask({ host: host(3000) })).text).toBe('ok');
    expect((await ask({ host: host(3000) })).text).toBe('ok');
    expect(net.dialled.length).toBe(2);
    inside.close();
  });

  it('leaves no connection behind when 100 clients vanish in the middle', async () => {
    const inside = await net.serve(id, 3000, (_req, res) => {
      res.write('first');
    });
    const streams = await Promise.all(Array.from({ length: 100 }, openStream));
    for (const { client } of streams) client.destroy();
    const count = (server: typeof inside): Promise<number> =>
      new Promise((resolve) => server.getConnections((_error, open) => resolve(open)));
    await expect
      .poll(async () => [await count(inside), await count(net.server)], { timeout: 5000 })
      .toEqual([0, 0]);
  });
});
