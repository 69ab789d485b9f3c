import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from './listen.ts';
import { createPublicServer } from './public-server.ts';
import { recognizeProtocol } from './recognize-protocol.ts';

let server: Server;
let port: number;
beforeAll(async () => {
  const listening = createPublicServer((req, res) => {
    let sizeBytes = 0;
    req.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
    });
    req.on('end', () => res.end(`${req.method} ${req.url} HTTP/${req.httpVersion} ${sizeBytes}`));
  });
  await listen(listening, { host: '127.0.0.1', port: 0 });
  server = listening;
  port = (listening.address() as AddressInfo).port;
});
afterAll(() => server.close());

/** A connection whose bytes go out in packets of `sizeBytes`, each in a turn of its own. */
const connectSlowly = (sizeBytes: number): Duplex => {
  const socket = connect({ port, noDelay: true });
  const write = async (bytes: Buffer): Promise<void> => {
    for (let at = 0; at < bytes.length; at += sizeBytes) {
      socket.write(bytes.subarray(at, at + sizeBytes));
      await turn();
      await turn();
    }
  };
  const slow = new Duplex({
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, callback) => callbackify(write)(chunk, callback),
    final: (callback) => void socket.end(callback),
    destroy: (error, callback) => {
      socket.destroy();
      callback(error);
    },
  });
  socket.on('data', (chunk) => slow.push(chunk) || socket.pause());
  socket.on('error', (error) => slow.destroy(error)).on('close', () => slow.destroy());
  return slow;
};

/** Sends each text in a packet of its own and resolves with everything that comes back until the end. */
const talk = async (...texts: string[]): Promise<string> => {
  const socket = connect({ port, noDelay: true });
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString();
  });
  for (const text of texts) {
    socket.write(text);
    await turn();
    await turn();
  }
  await once(socket, 'close');
  return answer;
};

describe('one port for both versions of HTTP', () => {
  it.each([1, 2, 3, 4, 1000])('recognises HTTP/2 in packets of %i bytes', async (sizeBytes) => {
    const session = connectHttp2('http://sandbox', { createConnection: () => connectSlowly(sizeBytes) });
    const stream = session.request({ ':method': 'POST', ':path': '/x' });
    stream.end('hello');
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('POST /x HTTP/2.0 5');
    session.destroy();
  });

  it.each([
    ['P', 'OST /x'],
    ['PR', 'OPFIND /x'],
    ['P', 'R', 'OPFIND /x'],
    ['G', 'ET /x'],
  ])('takes %s and then %s for HTTP/1.1', async (...parts) => {
    const head = ' HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n';
    const answer = await talk(...parts, head, 'ab');
    expect(answer).toContain(`${parts.join('')} HTTP/1.1 2`);
  });

  it('declines the offer to upgrade and answers in HTTP/1.1', async () => {
    const offer =
      'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    expect(await talk(`GET /x HTTP/1.1\r\nHost: x\r\n${offer}\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('keeps several requests of one HTTP/1.1 connection apart, sent at once', async () => {
    const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    const answer = await talk(get('/1') + get('/2') + get('/3', 'Connection: close\r\n'));
    expect(answer.match(/GET \/\d/g)).toEqual(['GET /1', 'GET /2', 'GET /3']);
  });

  it('ends connections that begin like HTTP/2 and go on like something else', async () => {
    expect(await talk('PRI * HTTP/1.1\r\nHost: x\r\n\r\n')).not.toContain('200');
  });
});

describe('a request whose head does not come', () => {
  it.each([
    ['nothing', '', '408'],
    ['what could be either', 'PR', '408'],
    ['half a head', 'GET / HTTP/1.1\r\nHo', '408'],
    ['half a preface', 'PRI * HTTP/2.0\r\n\r\nS', ''],
  ])(
    'is ended after ten to fifteen seconds when there was %s',
    { concurrent: true },
    async (_what, text, answer) => {
      const begunMs = performance.now();
      expect(await talk(text)).toContain(answer);
      const tookMs = performance.now() - begunMs;
      expect(tookMs).toBeGreaterThan(9_900);
      // Those of a server with the times of Node are ended after a minute.
      expect(tookMs).toBeLessThan(30_000);
    },
  );
});

describe('a connection that stalls before its protocol is known', () => {
  const accept = async (): Promise<{ inside: Socket; outside: Socket } & AsyncDisposable> => {
    const acceptor = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(acceptor, 'listening');
    const outside = connect((acceptor.address() as AddressInfo).port);
    const [inside] = (await once(acceptor, 'connection')) as [Socket];
    return {
      inside,
      outside,
      async [Symbol.asyncDispose]() {
        outside.destroy();
        await new Promise((resolve) => acceptor.close(resolve));
      },
    };
  };
  const recognized: string[] = [];
  const recognize = (socket: Socket, timeoutMs: number): void =>
    recognizeProtocol(socket, {
      timeoutMs,
      onHttp1: () => recognized.push('http1'),
      onHttp2: () => recognized.push('http2'),
    });

  it.each(['', 'P', 'PR'])('after "%s" is told 408 and ended', async (text) => {
    await using pair = await accept();
    recognize(pair.inside, 100);
    pair.outside.write(text);
    expect(Buffer.concat(await pair.outside.toArray()).toString()).toMatch(/^HTTP\/1\.1 408 /);
    await expect.poll(() => pair.inside.destroyed).toBe(true);
    expect(recognized).toEqual([]);
  });

  it('is served when its bytes arrived while this process was held up', async () => {
    await using pair = await accept();
    recognize(pair.inside, 50);
    pair.outside.write('GET');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    await expect.poll(() => recognized.splice(0)).toEqual(['http1']);
    expect(pair.inside.destroyed).toBe(false);
    pair.inside.destroy();
  });

  it.each(['end', 'resetAndDestroy'] as const)(
    'and whose client leaves with %s is closed at once',
    async (leave) => {
      await using pair = await accept();
      recognize(pair.inside, 60_000);
      pair.outside.write('PR');
      await once(pair.inside, 'readable');
      pair.outside[leave]();
      // Long before it would be closed for want of a request.
      await expect.poll(() => pair.inside.destroyed, { timeout: 20_000 }).toBe(true);
      expect(recognized).toEqual([]);
    },
  );
});
