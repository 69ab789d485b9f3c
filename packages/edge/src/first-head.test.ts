import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { limitFirstHead } from './first-head.ts';
import { edgeServerOptions } from './server-options.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close().closeAllConnections();
});

const HEAD_MS = 200;

const serve = async (): Promise<number> => {
  server = createServer(edgeServerOptions, (request, response) => {
    noteRequest(request.socket);
    response.end('answer');
  });
  const noteRequest = limitFirstHead(server, { headMs: HEAD_MS, checkMs: 20 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const standStill = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

it.each(['', 'GET / HTTP/1.1\r\nHost: a\r\nX-Slow: '])(
  'a connection that has sent %j and no more gets 408, and ends',
  async (sent) => {
    const socket = connect({ port: await serve(), host: '127.0.0.1' });
    socket.write(sent);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  },
);

it('a connection stays whose request has come', async () => {
  const socket = connect({ port: await serve(), host: '127.0.0.1' });
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'data');
  await new Promise((resolve) => setTimeout(resolve, HEAD_MS * 3));
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
});

it('a request is answered that came while this process stood still', async () => {
  const port = await serve();
  // Another thread: it sends while this one does nothing.
  const client = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const socket = require('node:net').connect({ port: workerData, host: '127.0.0.1' });
     parentPort.once('message', () => socket.write('GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'));
     socket.once('data', (data) => { parentPort.postMessage(String(data)); socket.destroy(); });`,
    { eval: true, workerData: port },
  );
  const answered = once(client, 'message');
  await once(server as Server, 'connection');
  client.postMessage('send');
  standStill(HEAD_MS * 5);
  expect((await answered)[0]).toMatch(/^HTTP\/1\.1 200 /);
});
