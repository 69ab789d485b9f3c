import { once } from 'node:events';
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { type AccessEntry, createAccessLog } from './access-log.ts';

const start = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const entries: AccessEntry[] = [];
  const log = createAccessLog((entry) => void entries.push(entry), {
    domain: 'example.test',
    sharedHosts: [],
  });
  const server = createServer((request, response) => {
    log.begin(request, response);
    answer(request, response);
  }).listen(0, '127.0.0.1');
  server.on('upgrade', (request, socket) => {
    log.begin(request, socket);
    socket.on('data', (chunk) => socket.end(chunk)).write('hello');
  });
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const call = async (
    path: string,
    { headers = {}, method = 'GET', body = '' }: { headers?: object; method?: string; body?: string } = {},
  ): Promise<void> => {
    const asked = ask({ host: '127.0.0.1', port, path, method, headers: { ...headers } }).end(body);
    const [response] = await once(asked, 'response');
    await new Promise((resolve) => response.on('error', resolve).on('close', resolve).resume());
  };
  return { log, entries, call, port };
};

const readAll = (request: IncomingMessage, response: ServerResponse): void =>
  void request.resume().once('end', () => {
    response.writeHead(202).write('some ');
    response.end('bytes');
  });

it('writes an entry for each request, with the bytes of both bodies and the id of its key', async () => {
  const { log, entries, call } = await start((request, response) => {
    log.noteKey(request, { keyId: 'key-1', project: 'blue' });
    readAll(request, response);
  });
  await call('/sandboxes?limit=1', {
    headers: { 'x-request-id': 'mine-1' },
    method: 'POST',
    body: 'x'.repeat(100_000),
  });
  await call('/health', { method: 'HEAD' });
  await expect.poll(() => entries.length).toBe(2);
  expect(entries[0]).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    requestId: 'mine-1',
    client: '127.0.0.1',
    protocol: 'HTTP/1.1',
    method: 'POST',
    host: 'api',
    path: '/sandboxes',
    status: 202,
    isComplete: true,
    bytesIn: 100_000,
    bytesOut: 10,
    durationMs: expect.any(Number),
    keyId: 'key-1',
    project: 'blue',
  });
  expect(entries[1]).toMatchObject({ method: 'HEAD', path: '/health', bytesOut: 0 });
});

it('writes which sandbox and port a request is for', async () => {
  const { entries, call } = await start(readAll);
  await call('/', { headers: { host: '3000-abc.example.test' } });
  await call('/files', { headers: { host: '49983-abc.example.test' } });
  await call('/', { headers: { host: '99999-abc.example.test' } });
  await expect
    .poll(() => entries)
    .toMatchObject([
      { host: 'port', sandboxId: 'abc', port: 3000 },
      { host: 'agent', sandboxId: 'abc', port: 49_983 },
      { host: 'malformed' },
    ]);
});

it('shows that an answer broke off', async () => {
  const { entries, call } = await start((_, response) => {
    response.writeHead(202).write('half', () => response.destroy());
  });
  await call('/sandboxes');
  await expect.poll(() => entries).toMatchObject([{ status: 202, isComplete: false, bytesOut: 4 }]);
});

it('writes the bytes of an upgraded connection when it has ended', async () => {
  const { entries, port } = await start(readAll);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: 3000-abc.example.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  await once(socket, 'data');
  expect(entries).toEqual([]);
  socket.end('four');
  await expect.poll(() => entries).toMatchObject([{ sandboxId: 'abc', bytesIn: 4, bytesOut: 9 }]);
});
