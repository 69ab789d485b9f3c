import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAgent, type TestAgent } from './testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

it('closes all that leads to the host at one signal, and opens it at another, as often as it is told to', async () => {
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
