import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createConnectionBudget } from './proxy/budget.ts';
import { MAX_WAITING } from './proxy/turns.ts';
import { openSandboxGateway, type SandboxGateway } from './sandbox-gateway.ts';
import { splitIntoRecords, toHello } from './testing/hello.ts';

const local = '127.0.0.1';
const addresses: Record<string, string[]> = {
  'api.example.com': [local],
  'other.example.com': ['127.0.0.2'],
  'b.cdn.example': [local],
};
const toPolicy = (names: string[]) => ({
  names,
  ask: async (name: string) => ({
    code: 'NOERROR' as const,
    addresses: addresses[name] ?? [],
    ttlSeconds: 60,
  }),
  isClosed: () => false,
});

let gateway: SandboxGateway;
let proxyPort: number;
let destination: { address: string; port: number } | undefined;
let unknownDestination: () => undefined;
let echo: Server;
let web: HttpServer;
let requests: { host: string | undefined; url: string | undefined }[];
let received: Buffer[];

/** A port that was free a moment ago. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, local);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
};
const portOf = (server: Server | HttpServer): number => (server.address() as AddressInfo).port;

beforeEach(async () => {
  received = [];
  requests = [];
  echo = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => received.push(bytes));
    socket.pipe(socket);
  }).listen(0, local);
  web = createHttpServer((incoming: IncomingMessage, response) => {
    requests.push({ host: incoming.headers.host, url: incoming.url });
    incoming.pipe(response);
  }).listen(0, local);
  web.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  await Promise.all([once(echo, 'listening'), once(web, 'listening')]);
  destination = { address: local, port: portOf(echo) };
  unknownDestination = () => undefined;
  proxyPort = await freePort();
  gateway = await openSandboxGateway(
    {
      ...{ host: local, guest: local, dnsPort: await freePort(), proxyPort },
      budget: createConnectionBudget(3),
      findDestination: () => destination ?? unknownDestination(),
    },
    toPolicy(['api.example.com', 'other.example.com', '*.cdn.example']),
  );
});
afterEach(() => {
  gateway.close();
  echo.close();
  web.close();
  web.closeAllConnections();
});

const dial = (): Socket => connect({ port: proxyPort, host: local, allowHalfOpen: true });
const open = async (): Promise<Socket> => {
  const socket = dial();
  await once(socket, 'connect');
  return socket;
};
/** Resolves with what a connection receives until it ends, or with the code of its error. */
const outcome = (socket: Socket): Promise<string> => text(socket).catch((error) => error.code as string);
const DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49]).toString();

describe('connections', () => {
  it('resets those beyond the budget of all sandboxes, until one of them has ended', async () => {
    const opened = [await open(), await open(), await open()];
    expect(await outcome(dial())).toBe('ECONNRESET');
    const first = opened[0] as Socket;
    const hello = toHello({ serverNames: ['api.example.com'] });
    first.destroy();
    await sleep(20);
    const next = await open();
    next.write(hello);
    expect(String((await once(next, 'data'))[0])).toBe(String(hello));
    for (const socket of [...opened, next]) socket.destroy();
  });

  it('resets one whose destination cannot be read', async () => {
    unknownDestination = () => {
      throw new Error('no descriptor');
    };
    destination = undefined;
    expect(await outcome(dial())).toBe('ECONNRESET');
  });
});

describe('TLS', () => {
  it('passes the bytes of an allowed name on unchanged, in however many pieces they arrive', async () => {
    for (const name of ['api.example.com', 'B.CDN.example']) {
      received = [];
      const hello = splitIntoRecords(toHello({ serverNames: [name], paddingBytes: 40 }), 30);
      const socket = await open();
      socket.setNoDelay(true);
      for (const byte of hello) {
        socket.write(Buffer.of(byte));
        if (byte % 16 === 0) await sleep(0);
      }
      const [first] = await once(socket, 'data');
      expect(first).toEqual(hello);
      socket.end('later');
      expect(await outcome(socket)).toBe('later');
      expect(Buffer.concat(received)).toEqual(Buffer.concat([hello, Buffer.from('later')]));
    }
  });

  it('passes on all that a server sends to a client that has ended its side and reads slowly', async () => {
    const bytes = 8 << 20;
    const sender = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.on('end', () => socket.end(Buffer.alloc(bytes))).resume();
    }).listen(0, local);
    await once(sender, 'listening');
    destination = { address: local, port: portOf(sender) };
    const socket = await open();
    socket.end(toHello({ serverNames: ['api.example.com'] }));
    let count = 0;
    for await (const chunk of socket) {
      count += (chunk as Buffer).length;
      await sleep(1);
    }
    expect(count).toBe(bytes);
    sender.close();
  });

  it.each([
    ['a name that no rule allows', ['evil.example']],
    ['a name below one that is allowed exactly', ['x.api.example.com']],
    ['an allowed name whose address is another one', ['other.example.com']],
    ['no name', []],
  ])('ends %s with an alert, and connects to nothing', async (_, serverNames) => {
    const socket = await open();
    socket.write(toHello({ serverNames }));
    expect(await outcome(socket)).toBe(DENIED);
    expect(received).toEqual([]);
  });

  it('resets a hello that is malformed or cut off, and a connection that was not redirected', async () => {
    const malformed = await open();
    malformed.write(Buffer.from([22, 3, 1, 0, 0]));
    expect(await outcome(malformed)).toBe('ECONNRESET');
    const cut = await open();
    cut.end(toHello({ serverNames: ['api.example.com'] }).subarray(0, 20));
    expect(await outcome(cut)).toBe('ECONNRESET');
    destination = undefined;
    expect(await outcome(dial())).toBe('ECONNRESET');
  });

  it('resets a connection when its name is no longer allowed, and keeps the others', async () => {
    const [api, cdn] = [await open(), await open()];
    api.write(toHello({ serverNames: ['api.example.com'] }));
    cdn.write(toHello({ serverNames: ['b.cdn.example'] }));
    await Promise.all([once(api, 'data'), once(cdn, 'data')]);
    const ended = outcome(api);
    gateway.update(toPolicy(['b.cdn.example']));
    expect(await ended).toBe('ECONNRESET');
    cdn.write('still');
    expect(String((await once(cdn, 'data'))[0])).toBe('still');
    cdn.destroy();
  });
});

describe('HTTP', () => {
  beforeEach(() => {
    destination = { address: local, port: portOf(web) };
  });
  const send = async (bytes: string): Promise<string> => {
    const socket = await open();
    socket.write(bytes);
    return outcome(socket);
  };
  const toRequest = (host: string, rest = ''): string => `GET /a HTTP/1.1\r\nHost: ${host}\r\n${rest}\r\n`;

  it('passes a request of an allowed host on, with its body', async () => {
    const answer = await send(
      'POST /a?b HTTP/1.1\r\nHost: api.example.com:80\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
    );
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*hello/);
    expect(requests).toEqual([{ host: 'api.example.com:80', url: '/a?b' }]);
  });

  it('refuses the second request of a connection when its host is another one', async () => {
    const answer = await send(toRequest('api.example.com') + toRequest('evil.example'));
    expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*HTTP\/1.1 403 /);
    expect(requests).toEqual([{ host: 'api.example.com', url: '/a' }]);
  });

  it.each([
    ['an address of another name', toRequest('other.example.com')],
    ['a bare address', toRequest(local)],
    ['two hosts', toRequest('api.example.com', 'Host: evil.example\r\n')],
    ['a target with another host', 'GET http://evil.example/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
    ['a user in the host', toRequest('api.example.com@evil.example')],
  ])('refuses %s', async (_, bytes) => {
    expect(await send(bytes)).toMatch(/^HTTP\/1.1 40[03] /);
    expect(requests).toEqual([]);
  });

  it.each([
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
    [
      'two lengths',
      `POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['SOCKS', '\x05\x01\x00'],
  ])('passes nothing of %s on', async (_, bytes) => {
    expect(await send(bytes)).not.toMatch(/ 200 /);
    expect(requests).toEqual([]);
  });

  it('passes bytes on in both directions once the protocol has changed', async () => {
    const socket = await open();
    socket.write(toRequest('api.example.com', 'Connection: Upgrade\r\nUpgrade: echo\r\n'));
    expect(String((await once(socket, 'data'))[0])).toContain('101 Switching Protocols');
    socket.write('ping');
    expect(String((await once(socket, 'data'))[0])).toBe('ping');
    socket.destroy();
  });

  it.each([
    ['a Trailer on a request without a body', toRequest('api.example.com', 'Trailer: x\r\n')],
    [
      'a Trailer on a change of the protocol',
      toRequest('api.example.com', 'Trailer: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n'),
    ],
  ])('passes %s on without it', async (_, bytes) => {
    const socket = await open();
    socket.write(bytes);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 (?:200|101) /);
    socket.destroy();
  });

  /** A server that answers the first bytes of each connection with these. */
  const serve = async (answer: string): Promise<Server> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(answer, 'latin1'));
    }).listen(0, local);
    await once(server, 'listening');
    destination = { address: local, port: portOf(server) };
    return server;
  };

  it.each([
    ['a Trailer and a length', 'HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 2\r\n\r\nok', 200],
    ['a Trailer and no body', 'HTTP/1.1 304 No\r\nTrailer: x\r\nTransfer-Encoding: chunked\r\n\r\n', 304],
    ['the status 099', 'HTTP/1.1 099 Low\r\nContent-Length: 2\r\n\r\nok', 502],
    ['a control character in its reason', 'HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok', 502],
    [
      'an unwanted change of the protocol',
      'HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      502,
    ],
  ])('answers the client when the answer has %s', async (_, answer, status) => {
    const server = await serve(answer);
    expect(await send(toRequest('api.example.com', 'Connection: close\r\n'))).toMatch(
      new RegExp(`^HTTP/1.1 ${status} `),
    );
    server.close();
  });

  it('passes early hints and the trailers of a request and of its answer on, but no Host among them', async () => {
    web.removeAllListeners('request');
    web.on('request', (incoming, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload', 'x-more': 'b' });
      response.writeHead(200, { trailer: 'x-end' });
      incoming.resume().on('end', () => {
        response.addTrailers({ 'x-end': JSON.stringify(incoming.trailers) });
        response.end('body');
      });
    });
    const answer = await send(
      'POST / HTTP/1.1\r\nHost: api.example.com\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n' +
        '1\r\na\r\n0\r\nx-sum: 1\r\nhost: evil.example\r\n\r\n',
    );
    expect(answer).toMatch(
      /^HTTP\/1.1 103 Early Hints\r\nLink: <\/a.css>; rel=preload\r\nx-more: b\r\n\r\nHTTP\/1.1 200 /,
    );
    expect(answer).toContain('x-end: {"x-sum":"1"}');
  });

  it('passes requests that arrive at once on one after the other, and ends a connection with too many', async () => {
    let running = 0;
    let most = 0;
    web.removeAllListeners('request');
    web.on('request', (incoming: IncomingMessage, response) => {
      most = Math.max(most, ++running);
      setTimeout(() => {
        running -= 1;
        response.end(incoming.url);
      }, 2);
    });
    const last = toRequest('api.example.com', 'Connection: close\r\n');
    const answers = await send(toRequest('api.example.com').repeat(MAX_WAITING) + last);
    expect(answers.match(/HTTP\/1.1 200 /g)).toHaveLength(MAX_WAITING + 1);
    expect(most).toBe(1);
    expect(await send(toRequest('api.example.com').repeat(MAX_WAITING + 2))).not.toContain('200');
  });

  it('resets an answer when its name is no longer allowed, whatever the client has asked for behind it', async () => {
    web.removeAllListeners('request');
    web.on('request', (_, response) => void response.write('first'));
    const socket = await open();
    socket.write(toRequest('api.example.com') + toRequest('b.cdn.example'));
    await once(socket, 'data');
    const ended = outcome(socket);
    gateway.update(toPolicy(['b.cdn.example']));
    expect(await ended).toBe('ECONNRESET');
  });

  it('ends a connection that wants another protocol behind a request', async () => {
    const upgrade = toRequest('api.example.com', 'Connection: Upgrade\r\nUpgrade: echo\r\n');
    expect(await send(toRequest('api.example.com') + upgrade)).not.toContain('101');
  });
});
