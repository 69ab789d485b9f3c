import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { UnreachablePeerError } from '@skerry/platform';
import { type Credentials, loadCredentials } from '@skerry/runtime/node';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { writeCertificates } from '../certificates/write-certificates.ts';
import { createLog } from '../log/log.ts';
import { listenForPeers, type RunningPeers } from './peers.ts';

let folder: string;
const running: RunningPeers[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-peers-'));
  await writeCertificates({ dir: folder, names: ['a'], days: 1, renew: false });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((peers) => peers.close()));
  rmSync(folder, { recursive: true });
});

const load = (name: string, role: 'platform' | 'node'): Credentials => {
  const files = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  return loadCredentials({ ...files, ca: join(folder, 'ca.crt') }, { role });
};
const lines: string[] = [];
const log = createLog({ write: (line) => void lines.push(line), level: 'warn' });

/** A server that answers whether a request has come from a peer. */
const listen = async (credentials: Credentials): Promise<{ peers: RunningPeers; server: Server }> => {
  const server = createServer((request, response) => {
    void text(request).then((body) =>
      response.writeHead(201).end(`${peers.isFromPeer(request)} ${request.method} ${request.url} ${body}`),
    );
  });
  const peers = await listenForPeers({ listen: { host: '127.0.0.1', port: 0 }, credentials, server, log });
  running.push(peers);
  return { peers, server };
};
const call = { method: 'POST', path: '/sandboxes?a=b', headers: {}, body: 'text' };
const { signal } = new AbortController();

it('pass calls between servers with certificates of the platform, which are told from those of others', async () => {
  const [one, two] = [await listen(load('platform', 'platform')), await listen(load('platform', 'platform'))];
  for (let round = 0; round < 2; round += 1) {
    const response = await one.peers.send(two.peers.address, call, signal);
    expect([response.statusCode, await text(response)]).toEqual([201, 'true POST /sandboxes?a=b text']);
  }
  two.server.listen(0, '127.0.0.1');
  await once(two.server, 'listening');
  const { port } = two.server.address() as { port: number };
  const direct = await fetch(`http://127.0.0.1:${port}/`);
  expect(await direct.text()).toBe('false GET / ');
  two.server.close();
  two.server.closeAllConnections();
});

it('leave no listener on a connection that they use again', async () => {
  const [one, two] = [await listen(load('platform', 'platform')), await listen(load('platform', 'platform'))];
  const warnings: Error[] = [];
  const note = (warning: Error): void => {
    if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning);
  };
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  for (let round = 0; round < 15; round += 1)
    await text(await one.peers.send(two.peers.address, call, signal));
  expect(warnings).toEqual([]);
});

it('accept no certificate of a node, and call no node', async () => {
  const [platform, node] = [await listen(load('platform', 'platform')), await listen(load('a', 'node'))];
  await expect(node.peers.send(platform.peers.address, call, signal)).rejects.toThrow();
  await expect(platform.peers.send(node.peers.address, call, signal)).rejects.toThrow(
    'its certificate is not for the platform',
  );
});

it('reject when the other server is away, or the caller leaves', async () => {
  const [one, two] = [await listen(load('platform', 'platform')), await listen(load('platform', 'platform'))];
  await expect(one.peers.send(two.peers.address, call, AbortSignal.abort())).rejects.toThrow('aborted');
  await two.peers.close();
  running.splice(running.indexOf(two.peers), 1);
  const away = one.peers.send(two.peers.address, call, signal);
  await expect(away).rejects.toBeInstanceOf(UnreachablePeerError);
  await expect(away).rejects.toThrow(two.peers.address);
});

it('hold a bound of connections that finish no handshake, log them once, and serve meanwhile', async () => {
  const [one, two] = [await listen(load('platform', 'platform')), await listen(load('platform', 'platform'))];
  const [host = '', port = ''] = two.peers.address.split(':');
  lines.length = 0;
  const silent: Socket[] = [];
  onTestFinished(() => {
    for (const socket of silent) socket.destroy();
  });
  for (let round = 0; round < 9; round += 1) {
    const more = Array.from({ length: 100 }, () =>
      connect(Number(port), host)
        .on('error', () => undefined)
        .resume(),
    );
    silent.push(...more);
    for (const socket of more) socket.write(Buffer.from('1603010200010001fc0303', 'hex'));
    await Promise.all(more.map((socket) => once(socket, 'connect')));
  }
  await expect.poll(() => silent.filter(({ destroyed }) => !destroyed).length).toBe(768);
  const response = await one.peers.send(two.peers.address, call, signal);
  expect([response.statusCode, await text(response)]).toEqual([201, 'true POST /sandboxes?a=b text']);
  for (const word of ['one', 'two', 'three']) {
    const wrong = connect(Number(port), host);
    wrong.end(`GET /${word} HTTP/1.1\r\n\r\n`);
    await text(wrong).catch(() => '');
  }
  await expect.poll(() => lines.length).toBeGreaterThan(1);
  const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message);
  expect(new Set(messages).size).toBe(messages.length);
  expect(messages.toSorted()).toEqual([
    'a connection of another server failed',
    'one address has too many unidentified connections to the port for other servers',
  ]);
});
