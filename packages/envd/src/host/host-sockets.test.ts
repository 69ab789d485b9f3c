import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';
import { createHostSockets } from './host-sockets.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

it('closes all that leads to the host at one signal, and opens it at another, any number of times', async () => {
  const paths = ['http.sock', 'control.sock'].map((name) => join(agent.socketDir, name));
  for (const _ of [1, 2]) {
    const connected = connect(join(agent.socketDir, 'http.sock'));
    const ended = new Promise((resolve) => connected.on('error', resolve).on('close', resolve));
    expect((await agent.http({ path: '/health' })).status).toBe(204);
    process.kill(agent.pid, 'SIGUSR2');
    await ended;
    await expect.poll(() => paths.filter((path) => existsSync(path))).toEqual([]);
    process.kill(agent.pid, 'SIGCONT');
    await expect.poll(() => paths.filter((path) => existsSync(path))).toEqual(paths);
    process.kill(agent.pid, 'SIGCONT');
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  }
});

it('has the state of the last signal, however soon it came after the one before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'host-sockets-'));
  const paths = ['one', 'two'].map((name) => join(folder, name));
  const servers = paths.map(() => createServer());
  const sockets = createHostSockets(
    paths.map((path, index) => ({ path, server: servers[index] as (typeof servers)[0] })),
  );
  const reach = (path: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(path).on('error', ({ message }) => resolve(message));
      socket.on('connect', () => socket.destroy()).on('close', () => resolve('reached'));
    });
  try {
    for (let turns = 0; turns < 8; turns++) {
      void sockets.open();
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      void sockets.close();
      await sockets.open();
      expect(await Promise.all(paths.map(reach))).toEqual(['reached', 'reached']);
      void sockets.open();
      await sockets.close();
      expect(paths.filter((path) => existsSync(path))).toEqual([]);
      expect(servers.map(({ listening }) => listening)).toEqual([false, false]);
    }
    mkdirSync(join(paths[1] as string, 'in the way'), { recursive: true });
    await expect(sockets.open()).rejects.toThrow();
    rmSync(paths[1] as string, { recursive: true });
    await sockets.open();
    expect(await Promise.all(paths.map(reach))).toEqual(['reached', 'reached']);
  } finally {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true });
  }
});
