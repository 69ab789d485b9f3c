import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type Loopback, startLoopback } from './loopback.ts';

const id = 'i0123456789abcdefghij';
const host = `3000-${id}.example.test`;

let net: Loopback;
beforeEach(async () => {
  net = await startLoopback();
  net.start(id);
});
afterEach(() => net[Symbol.asyncDispose]());

const echo = async (): Promise<WebSocketServer> => {
  const server = await net.serve(id, 3000, (_req, res) => res.end('plain'));
  const sockets = new WebSocketServer({ server, handleProtocols: (offered) => [...offered][0] ?? false });
  sockets.on('connection', (socket) => {
    socket.send('hello');
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  return sockets;
};

const open = (): WebSocket => new WebSocket(`ws://127.0.0.1:${net.port}/`, ['chat'], { headers: { host } });

it('echoes WebSocket messages of a megabyte and negotiates the subprotocol', async () => {
  await echo();
  const socket = open();
  const messages: Buffer[] = [];
  socket.on('message', (data: Buffer) => messages.push(data));
  await once(socket, 'open');
  expect(socket.protocol).toBe('chat');
  const big = randomBytes(1 << 20);
  socket.send(big);
  await expect.poll(() => messages.length).toBe(2);
  expect(String(messages[0])).toBe('hello');
  expect(messages[1]?.equals(big)).toBe(true);
  socket.close(4001, 'done');
  const [code] = (await once(socket, 'close')) as [number];
  expect(code).toBe(4001);
});

it('closes the WebSocket inside when the client vanishes', async () => {
  const sockets = await echo();
  const socket = open();
  await once(socket, 'open');
  expect(sockets.clients.size).toBe(1);
  socket.terminate();
  await expect.poll(() => sockets.clients.size).toBe(0);
});

it.each([
  ['nothing', ''],
  ['half of a response', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
])('closes the connection inside when the client disconnects after %s', async (_what, bytes) => {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  await net.serveTcp(id, 3000, (socket) => {
    socket.once('close', () => left.resolve()).on('error', () => {});
    socket.once('data', () => {
      socket.write(bytes);
      asked.resolve();
    });
  });
  const client = connect({ port: net.port, host: '127.0.0.1' }).resume();
  client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly`);
  await asked.promise;
  if (bytes !== '') await once(client, 'data');
  client.destroy();
  await left.promise;
});

it('ends a connection that sends without end before the server inside has accepted', async () => {
  await net.serveTcp(id, 3000, () => {});
  const client = connect({ port: net.port, host: '127.0.0.1' }).on('error', () => {});
  client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`);
  client.write(Buffer.alloc(100_000));
  await once(client, 'close');
});

it('carries any protocol that the server inside accepts, with bytes that arrived together with the heads', async () => {
  await net.serveTcp(id, 3000, (socket) => {
    socket.once('data', () => {
      socket.write(
        'HTTP/1.1 101 Sure\r\nConnection: Upgrade\r\nUpgrade: lines\r\nX-A: 1\r\n\r\nfrom inside\n',
      );
      socket.on('data', (chunk) => socket.end(`echo ${String(chunk)}`));
    });
  });
  const socket = connect({ port: net.port, host: '127.0.0.1' });
  socket.write(`GET /x HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\nearly`);
  const all = await text(socket);
  expect(all).toMatch(/^HTTP\/1\.1 101 Sure\r\n/);
  expect(all).toContain('X-A: 1\r\n');
  expect(all.endsWith('\r\n\r\nfrom inside\necho early')).toBe(true);
});

it('forwards a refusal and closes, so that the connection cannot carry a request past the edge', async () => {
  await net.serve(id, 3000, (_req, res) => {
    res.writeHead(403);
    res.end('no');
  });
  const socket = connect({ port: net.port, host: '127.0.0.1' });
  const ask = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  socket.write(ask + ask);
  const all = await text(socket);
  expect(all).toMatch(/^HTTP\/1\.1 403 /);
  expect(all.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

it('answers 502 to an upgrade of an unknown sandbox and 400 to one with a bad host', async () => {
  const ask = (name: string): Promise<string> => {
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    return text(socket);
  };
  const unknown = await ask('3000-iunknown.example.test');
  expect(unknown).toMatch(/^HTTP\/1\.1 502 /);
  expect(unknown).toContain('"sandboxId":"iunknown"');
  expect(await ask('99999-iunknown.example.test')).toMatch(/^HTTP\/1\.1 400 /);
});

it('serves a request that offers h2c, or that has a body beside its offer, as an ordinary one', async () => {
  await net.serve(id, 3000, async (req, res) => res.end(`${await text(req)}|${req.headers.upgrade}`));
  const ask = (protocol: string): Promise<string> => {
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade, close\r\nUpgrade: ${protocol}\r\nContent-Length: 4\r\n\r\nbody`,
    );
    return text(socket);
  };
  expect(await ask('h2c')).toContain('body|undefined');
  expect(await ask('other')).toContain('body|undefined');
});
