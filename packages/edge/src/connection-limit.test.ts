import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { answerTo, ask, host, id, net, send, useLoopback } from './loopback-client.ts';

useLoopback({ connectionLimit: 3 });

/** Serves responses that begin and never end; the result sends a request for one. */
const serveStreams = async (sandboxId: string) => {
  await net.serve(sandboxId, 3000, (request, response) => {
    if (request.url === '/short') response.end('done');
    else response.write('first');
  });
  return async () => {
    const client = send({ headers: { host: host(3000, sandboxId) } });
    client.on('error', () => {});
    (await answerTo(client)).on('error', () => {});
    return client;
  };
};
const short = (sandboxId = id) => ask({ host: host(3000, sandboxId) }, { path: '/short' });

describe('the connections of one sandbox', () => {
  it('get 429 beyond the limit, and are served again when another connection has ended', async () => {
    const open = await serveStreams(id);
    const clients = [await open(), await open(), await open()];
    expect(net.edge.openStreams()).toBe(3);
    const answer = await short();
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: id,
      sandboxId: id,
      message: 'The sandbox has reached its limit of 3 connections',
      code: 429,
      connectionLimit: 3,
    });
    clients[0]?.destroy();
    await expect.poll(async () => (await short()).text).toBe('done');
    for (let count = 0; count < 5; count += 1) expect((await short()).status).toBe(200);
    await expect.poll(() => net.edge.openStreams()).toBe(2);
  });

  it('do not count against the limit of another sandbox', async () => {
    const open = await serveStreams(id);
    for (let count = 0; count < 3; count += 1) await open();
    net.start('iother');
    await serveStreams('iother');
    expect((await short('iother')).text).toBe('done');
  });

  it('count until they close after an upgrade to another protocol', async () => {
    await net.serveTcp(id, 3001, (socket) => {
      socket.on('error', () => {}).resume();
      socket.write('HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    });
    await serveStreams(id);
    const upgrade = async (): Promise<{ socket: Socket; answer: string }> => {
      const socket = connect({ port: net.port, host: '127.0.0.1' });
      // The edge resets it at the end of the test.
      socket.on('error', () => {});
      socket.write(`GET / HTTP/1.1\r\nHost: ${host(3001)}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
      const [data] = (await once(socket, 'data')) as [Buffer];
      return { socket, answer: String(data) };
    };
    const opened = [await upgrade(), await upgrade(), await upgrade()];
    expect(opened.map(({ answer }) => answer.slice(9, 12))).toEqual(['101', '101', '101']);
    expect((await upgrade()).answer).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
    expect((await short()).status).toBe(429);
    opened[1]?.socket.destroy();
    await expect.poll(async () => (await short()).status).toBe(200);
  });
});
