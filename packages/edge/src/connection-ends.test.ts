import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agentHost, answerTo, ask, host, id, net, send, useLoopback } from './loopback-client.ts';

useLoopback();

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

  it('resets the connection of every open request when the run ends, then answers 502', async () => {
    await net.serve(id, 3000, (req, res) => {
      if (req.url === '/stream') res.write('first');
    });
    const sockets = ['/stream', '/silent'].map((path) => {
      const socket = connect({ port: net.port, host: '127.0.0.1' });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host(3000)}\r\n\r\n`);
      return socket;
    });
    await once(sockets[0] as Socket, 'data');
    await expect.poll(() => net.dialled.length).toBe(2);
    const fates = Promise.all(sockets.map(fate));
    net.end(id);
    expect(await fates).toEqual(['ECONNRESET', 'ECONNRESET']);
    expect(await ask({ host: agentHost }, { path: '/health' })).toMatchObject({ status: 502 });
  });

  it('resets a connection whose first of two requests has been answered', async () => {
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

  it('does not reset the connections of other sandboxes', async () => {
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

  it('resets the client when the server inside disconnects in the middle of a response', async () => {
    await net.serve(id, 3000, (_req, res) => {
      res.write('half');
      setTimeout(() => res.destroy(), 50);
    });
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\n\r\n`);
    expect(await fate(socket)).toBe('ECONNRESET');
  });

  it('closes the connection inside when the client disconnects during a response or an upload', async () => {
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
    await expect.poll(() => net.dialled.length).toBe(2);
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

  it('retries on a new connection when the server inside has closed the idle one', async () => {
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

  it('leaves no open connection when 100 clients vanish during a request', async () => {
    const inside = await net.serve(id, 3000, (_req, res) => {
      res.write('first');
    });
    const streams = await Promise.all(Array.from({ length: 100 }, openStream));
    for (const { client } of streams) client.destroy();
    const count = (server: typeof inside): Promise<number> =>
      new Promise((resolve) => server.getConnections((_error, open) => resolve(open)));
    await expect.poll(async () => [await count(inside), await count(net.server)]).toEqual([0, 0]);
  });
});
