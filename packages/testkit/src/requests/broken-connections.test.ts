import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type LostEvents, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** A way to the stack whose connections can be cut. */
const createWay = async () => {
  const { hostname, port } = new URL(stack.address.sandboxUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    [Symbol.dispose]() {
      cut();
      server.close();
    },
  };
};

it('a watch whose connection is cut continues, and reports the gap and everything after it', async () => {
  using way = await createWay();
  await using direct = await Sandbox.create({ ...stack.connection, timeoutMs: 120_000 });
  const sandbox = await Sandbox.connect(direct.sandboxId, { ...stack.connection, sandboxUrl: way.url });
  await direct.files.makeDir('/tmp/cut/deep');
  const seen: string[] = [];
  const gaps: LostEvents[] = [];
  using watch = await sandbox.files.watchDir('/tmp/cut', {
    recursive: true,
    onEvent: ({ name, type }) => void (type === 'create' && seen.push(name)),
    onEventsLost: (lost) => void gaps.push(lost),
  });
  for (let round = 1; round <= 3; round += 1) {
    await direct.files.write(`/tmp/cut/deep/seen-${round}`, 'x');
    await expect.poll(() => seen).toContain(`deep/seen-${round}`);
    way.cut();
    await direct.files.write(`/tmp/cut/deep/lost-${round}`, 'x');
    await expect.poll(() => gaps.length).toBe(round);
  }
  await direct.files.write('/tmp/cut/deep/last', 'x');
  await expect.poll(() => seen).toContain('deep/last');
  expect(seen.filter((name) => name.startsWith('deep/seen'))).toEqual([
    'deep/seen-1',
    'deep/seen-2',
    'deep/seen-3',
  ]);
  for (const { since } of gaps) expect(Date.now() - since.getTime()).toBeLessThan(60_000);
  expect(watch).toBeDefined();
});
