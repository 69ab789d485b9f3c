import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findProgram } from '../kernel/find-program.ts';
import { findUserBus, startScope } from './user-manager.ts';

let runtimeDir: string;
let server: Server;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), 'bus-'));
  server = createServer();
});
afterEach(async () => {
  server.close();
  await rm(runtimeDir, { recursive: true });
});

const { uid } = userInfo();

it('finds the bus of a user by its socket, which must belong to that user', async () => {
  expect(findUserBus(uid, [runtimeDir])).toBeUndefined();
  await writeFile(join(runtimeDir, 'bus'), '');
  expect(findUserBus(uid, [runtimeDir])).toBeUndefined();
  await rm(join(runtimeDir, 'bus'));
  server.listen(join(runtimeDir, 'bus'));
  await once(server, 'listening');
  const bus = { runtimeDir, socketPath: join(runtimeDir, 'bus') };
  expect(findUserBus(uid, [undefined, '/nonexistent', runtimeDir])).toEqual(bus);
  expect(findUserBus(uid + 1, [runtimeDir])).toBeUndefined();
});

it('waits for a manager that does not answer until the timeout, and no longer', async (context) => {
  if (findProgram('busctl') === undefined) context.skip('this host has no busctl');
  server.on('connection', (socket) => socket.on('error', () => socket.destroy()).resume());
  server.listen(join(runtimeDir, 'bus'));
  await once(server, 'listening');
  const bus = { runtimeDir, socketPath: join(runtimeDir, 'bus') };
  const start = performance.now();
  const asked = startScope(bus, { unit: 'skerry-test.scope', pids: [process.pid], timeoutMs: 1_000 });
  await expect(asked).rejects.toMatchObject({ code: 'internal' });
  expect(performance.now() - start).toBeGreaterThan(900);
  expect(performance.now() - start).toBeLessThan(20_000);
});
