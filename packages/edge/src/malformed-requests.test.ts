import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it, vi } from 'vitest';
import { limitFirstHead } from './first-head.ts';
import { LINGER_MS } from './lingering-response.ts';
import { answerMalformed } from './malformed-requests.ts';
import { edgeServerOptions, maxHeaderBytes } from './server-options.ts';

let server: Server | undefined;
afterEach(() => {
  vi.useRealTimers();
  server?.close().closeAllConnections();
});

const serve = async (
  listener: RequestListener = (_request, response) => response.end('answer'),
  options: ServerOptions = {},
) => {
  server = createServer({ ...edgeServerOptions, ...options }, (request, response) => {
    noteResponse(request.socket, response);
    listener(request, response);
  });
  const noteResponse = answerMalformed(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return (): Socket => connect({ port, host: '127.0.0.1', allowHalfOpen: true });
};

const countConnections = (): Promise<number> =>
  new Promise((resolve) => server?.getConnections((_error, count) => resolve(count)));

const say = async (socket: Socket, bytes: string): Promise<string> => {
  socket.end(bytes);
  return text(socket);
};

it('what is not HTTP gets 400', async () => {
  const open = await serve();
  expect(await say(open(), 'SSH-2.0-hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
});

it.each([2, 20, 200])(
  'a head of %i times the maximum gets 431, however much of it is still on the way',
  async (times) => {
    const open = await serve();
    const head = `GET / HTTP/1.1\r\nX-Long: ${'a'.repeat(times * maxHeaderBytes)}\r\n\r\n`;
    expect(await say(open(), head)).toMatch(/^HTTP\/1\.1 431 /);
  },
);

it.each([
  ['is read', (request: IncomingMessage) => request.resume()],
  ['is not read', () => undefined],
])(
  'a body that breaks before its response begins gets 400 when it %s, and is taken to its end',
  async (_, read) => {
    const open = await serve(read);
    const chunk = `${(100_000).toString(16)}\r\n${'a'.repeat(100_000)}\r\n`;
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await say(open(), `${head}${chunk}not hex\r\n${chunk.repeat(20)}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    await expect.poll(countConnections).toBe(0);
  },
);

it('extensions of a chunk that are too long get 413', async () => {
  const open = await serve((request) => request.resume());
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  expect(await say(open(), `${head}1;${'a'.repeat(100_000)}\r\na\r\n`)).toMatch(/^HTTP\/1\.1 413 /);
});

it('a request that comes too late gets 408, and is not made', async () => {
  const made: string[] = [];
  const note: RequestListener = ({ url = '' }, response) => {
    made.push(url);
    response.end('answer');
  };
  const open = await serve(note, { headersTimeout: 100, connectionsCheckingInterval: 20 });
  const socket = open();
  socket.on('error', () => undefined);
  socket.write('POST /late HTTP/1.1\r\nHost: a\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  socket.write('\r\nPOST /second HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(countConnections).toBe(0);
  socket.destroy();
  expect(made).toEqual([]);
});

it('the time for a first request does not end a connection that is answered', async () => {
  const open = await serve();
  limitFirstHead(server as Server, { headMs: 30, checkMs: 10 });
  const socket = open();
  const failures: unknown[] = [];
  socket.on('error', (error) => failures.push(error));
  socket.write('SSH-2.0-hello\r\n\r\n');
  await once(socket, 'data');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await countConnections()).toBe(1);
  socket.end('more');
  await expect.poll(countConnections).toBe(0);
  expect(failures).toEqual([]);
});

it('a response that is on the way is not followed by another one', async () => {
  const open = await serve((_request, response) => void response.write('first'));
  const socket = open();
  let answer = '';
  socket.on('data', (data) => {
    answer += String(data);
  });
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'data');
  socket.write('SSH-2.0-hello\r\n\r\n');
  await once(socket, 'end');
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

it('what is not HTTP after a finished response gets 400', async () => {
  const open = await serve();
  const socket = open();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'data');
  expect(await say(socket, 'SSH-2.0-hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
});

it('a connection ends with its client, or 5 s after its answer', async () => {
  const open = await serve();
  expect(await say(open(), 'SSH-2.0-hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  await expect.poll(countConnections).toBe(0);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const socket = open();
  socket.write('SSH-2.0-hello\r\n\r\n');
  await once(socket, 'data');
  socket.write('more');
  expect(await countConnections()).toBe(1);
  vi.advanceTimersByTime(LINGER_MS);
  vi.useRealTimers();
  await expect.poll(countConnections).toBe(0);
  socket.destroy();
});
