import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { agentPort } from '@skerry/contract/directory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectGuest, connectGuestSocket, tunnel } from './guest-socket.ts';

let dir: string;
const servers: (Server | HttpServer)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'guest-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  await rm(dir, { recursive: true });
});

const serve = async (name: string, onSocket: (socket: Socket) => void): Promise<string> => {
  const path = join(dir, name);
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    onSocket(socket.on('error', () => undefined)),
  );
  servers.push(server.listen(path));
  await once(server, 'listening');
  return path;
};

/** A proxy like that of the agent: CONNECT to a port of this machine. */
const serveProxy = async (): Promise<string> => {
  const path = join(dir, 'control.sock');
  const server = createHttpServer();
  server.on('connect', (request, client: Socket, head: Buffer) => {
    const upstream = connect({
      port: Number(request.url?.split(':')[1]),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    client.on('error', () => undefined);
    upstream.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    upstream.on('connect', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
  });
  servers.push(server.listen(path));
  await once(server, 'listening');
  return path;
};

/** Listens without accepting, and starts anew all the time. */
const RESETTING_AGENT = `
import os, socket, sys
path = sys.argv[1]
print('go', flush=True)
while True:
    s = socket.socket(socket.AF_UNIX)
    s.bind(path + '.new')
    s.listen(100)
    os.rename(path + '.new', path)
    for _ in range(2000): pass
    s.close()
`;

const openDescriptors = async (): Promise<number> => (await readdir('/proc/self/fd')).length;

describe('connectGuestSocket', () => {
  it('connects to a socket and keeps no descriptor of its path', async () => {
    const path = await serve('http.sock', (socket) => socket.end('hello'));
    const socket = await connectGuestSocket({ path });
    expect(await text(socket)).toBe('hello');
    const before = await openDescriptors();
    for (let n = 0; n < 20; n++) (await connectGuestSocket({ path })).destroy();
    await expect.poll(openDescriptors).toBeLessThan(before + 10);
  });

  it('connects to the socket it checked, also when the path leads elsewhere right after', async () => {
    const path = await serve('http.sock', (socket) => socket.end('hello'));
    const connecting = connectGuestSocket({ path });
    await rename(path, join(dir, 'moved.sock'));
    const outcome = await connecting.then(text, (error: { code: string }) => error.code);
    expect(['hello', 'unavailable']).toContain(outcome);
  });

  it.each<[string, (path: string) => Promise<unknown>]>([
    ['a symbolic link to a socket', async (path) => symlink(await serve('real.sock', (s) => s.end()), path)],
    ['a symbolic link that points nowhere', (path) => symlink('/nowhere', path)],
    ['a regular file', (path) => writeFile(path, '')],
    ['a named pipe', async (path) => execFileSync('mkfifo', [path])],
    ['a folder', (path) => mkdir(path)],
    ['a device', async (path) => execFileSync('mknod', [path, 'c', '1', '5'])],
    ['nothing', async () => undefined],
    [
      'a socket on which nothing listens',
      async (path) => {
        const other = await serve('gone.sock', (s) => s.end());
        await rename(other, path);
        const server = servers.pop() as Server;
        server.close();
        await once(server, 'close');
      },
    ],
  ])('rejects with "unavailable", without waiting, for %s', async (_what, make) => {
    const path = join(dir, 'http.sock');
    await make(path);
    // Pass no deadline: what waited here would wait for ever.
    await expect(connectGuestSocket({ path })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('survives an error that occurs before a listener for it is added', async () => {
    const path = await serve('http.sock', () => undefined);
    const socket = await connectGuestSocket({ path });
    socket.destroy(new Error('reset'));
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  });

  it('survives an agent that stops listening while connections wait to be accepted', async () => {
    const path = join(dir, 'http.sock');
    // Closing resets them. A server of Node cannot be used here: it accepts every connection at once.
    const agent = spawn('python3', ['-c', RESETTING_AGENT, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(agent.stdout, 'data');
      const lanes = Array.from({ length: 8 }, async () => {
        for (let turn = 0; turn < 2_000; turn++) {
          try {
            (await connectGuestSocket({ path })).destroy();
          } catch (error) {
            expect(error).toMatchObject({ code: 'unavailable' });
          }
        }
      });
      // A reset without a listener is an uncaught exception, which fails the run.
      await Promise.all(lanes);
    } finally {
      agent.kill('SIGKILL');
    }
  });

  it('rejects with "unavailable" on abort', async () => {
    const path = await serve('http.sock', (socket) => socket.end());
    await expect(connectGuestSocket({ path, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});

describe('tunnel', () => {
  it('carries bytes both ways and keeps one direction open when the other has ended', async () => {
    const controlPath = await serveProxy();
    const echo = createServer(
      { allowHalfOpen: true },
      (socket) => void text(socket).then((all) => socket.end(all.toUpperCase())),
    );
    servers.push(echo.listen(0, '127.0.0.1'));
    await once(echo, 'listening');
    const { port } = echo.address() as AddressInfo;
    const stream = await tunnel({ controlPath, port });
    stream.end('through');
    expect(await text(stream)).toBe('THROUGH');
  });

  it('keeps the bytes that arrive together with the answer', async () => {
    const controlPath = await serve('control.sock', (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nfirst bytes'));
    });
    expect(await text(await tunnel({ controlPath, port: 80 }))).toBe('first bytes');
  });

  it('rejects with "refused" when nothing listens on that port, and for an invalid port', async () => {
    const controlPath = await serveProxy();
    await expect(tunnel({ controlPath, port: 1 })).rejects.toMatchObject({ code: 'refused' });
    for (const port of [0, 65_536, -1, 1.5, Number.NaN]) {
      await expect(tunnel({ controlPath, port })).rejects.toMatchObject({ code: 'refused' });
    }
  });

  it.each<[string, (socket: Socket) => void]>([
    ['ends', (socket) => socket.end()],
    ['answers with something that is not HTTP', (socket) => socket.end('SSH-2.0-x\r\n\r\n')],
    [
      'answers with an endless header',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`),
    ],
    ['answers with another status', (socket) => socket.end('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n')],
  ])('rejects with "unavailable" when the agent %s', async (_what, answer) => {
    const controlPath = await serve('control.sock', (socket) => socket.once('data', () => answer(socket)));
    await expect(tunnel({ controlPath, port: 80 })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('rejects with "unavailable" and closes the connection when the agent does not answer', async () => {
    const closed = Promise.withResolvers<void>();
    const controlPath = await serve('control.sock', (socket) =>
      socket
        .resume()
        .once('close', () => closed.resolve())
        .once('end', () => socket.end()),
    );
    await expect(tunnel({ controlPath, port: 80, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'unavailable',
    });
    await closed.promise;
  });

  it('rejects with "unavailable" when the agent does not answer and the signal aborts', async () => {
    const controlPath = await serve('control.sock', () => undefined);
    await expect(tunnel({ controlPath, port: 80, signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});

describe('connectGuest', () => {
  it('uses the public socket for the agent and the tunnel for every other port', async () => {
    const http = await serve('http.sock', (socket) => socket.end('agent'));
    const control = await serve('control.sock', (socket) => {
      socket.once('data', (request) =>
        socket.end(`HTTP/1.1 200 OK\r\n\r\n${String(request).split('\r\n')[0]}`),
      );
    });
    const sockets = { http, control };
    expect(await text(await connectGuest({ sockets, port: agentPort }))).toBe('agent');
    expect(await text(await connectGuest({ sockets, port: 3000 }))).toBe('CONNECT localhost:3000 HTTP/1.1');
  });
});
