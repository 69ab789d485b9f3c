import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, onTestFailed } from 'vitest';
import { createRandom } from '../faults/random.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { attackFromOutside } from './attack.ts';

let stack: Stack;
let sandbox: Sandbox;
beforeAll(async () => {
  stack = await startStack();
  sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 240_000 });
  await sandbox.files.write(
    '/tmp/h.py',
    readFileSync(new URL('./hostile-server.py', import.meta.url), 'utf8'),
  );
  const server = await sandbox.commands.run('exec python3 -u /tmp/h.py 7001', { background: true });
  for await (const piece of server) if ('stdout' in piece && piece.stdout.includes('listening')) return;
  throw new Error(`the server ended: ${server.stderr}`);
});
afterAll(() => stack.down());

/** Requests for the host, whole and broken off. */
const toRequests = (host: string): string[] => {
  const head = (method: string, ...headers: string[]): string =>
    [`${method} / HTTP/1.1`, `Host: ${host}`, ...headers, '', ''].join('\r\n');
  return [
    head('GET'),
    head('HEAD'),
    head('GET') + head('GET') + head('GET'),
    head('POST', 'Content-Length: 100000') + 'x'.repeat(5000),
    `${head('POST', 'Transfer-Encoding: chunked')}5\r\nhello\r\n`,
    `${head('POST', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`,
    `${head('POST', 'Transfer-Encoding: chunked')}ZZ\r\n`,
    head('PUT', 'Expect: 100-continue', 'Content-Length: 4'),
    `${head('GET', 'Connection: Upgrade', 'Upgrade: websocket')}frame`,
    `${head('GET', 'Connection: Upgrade', 'Upgrade: h2c', 'Content-Length: 3')}abc`,
  ];
};

const seed = Number(process.env.SKERRY_TEST_SEED) || Math.ceil(Math.random() * 1_000_000);
const random = createRandom(seed);
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

/** Sends one request and leaves soon, in one of the ways in which clients leave. Resolves with the bytes that came back. */
const visit = async (port: number, requests: readonly string[]): Promise<number> => {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  let sizeBytes = 0;
  socket.on('data', (data) => {
    sizeBytes += data.length;
  });
  socket.write(pick(requests));
  // Some stay until they have got something, however long that takes on this machine.
  const told = new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  if (random() < 0.2) await Promise.race([told, delay(10_000)]);
  else await delay(random() * 60);
  pick([() => socket.resetAndDestroy(), () => socket.end(), () => socket.destroy()])();
  await delay(50);
  socket.destroy();
  return sizeBytes;
};

attackFromOutside(
  'breaking every rule of HTTP, as a client and as a server inside',
  'the edge ends what breaks a rule',
  async () => {
    onTestFailed(() => console.error(`to repeat its choices: SKERRY_TEST_SEED=${seed}`));
    const port = Number(new URL(stack.address.apiUrl).port);
    const requests = toRequests(sandbox.getHost(7001));
    const begun = performance.now();
    const isEnough = (): boolean => performance.now() - begun > 5000 && sizeBytes > 10_000;
    const isLate = (): boolean => performance.now() - begun > 60_000;
    let visits = 0;
    let sizeBytes = 0;
    const lane = async (): Promise<void> => {
      while (!isEnough() && !isLate()) {
        sizeBytes += await visit(port, requests);
        visits += 1;
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    expect(visits).toBeGreaterThan(100);
    // Most leave before anything comes back, some get a whole answer of the server inside.
    expect(sizeBytes).toBeGreaterThan(10_000);

    expect((await sandbox.commands.run('echo here')).stdout).toBe('here\n');
    const ended = stack.stop().then(() => true);
    const isEnded = await Promise.race([ended, delay(10_000, false)]);
    // Otherwise the clean-up would wait for it, too.
    if (!isEnded) await stack.kill();
    expect(isEnded).toBe(true);
  },
);
