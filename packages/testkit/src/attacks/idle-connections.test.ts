import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { attackFromOutside } from './attack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

const ask = async (path: string, options: { headers?: Record<string, string>; agent?: Agent } = {}) => {
  const [response] = (await once(get(stack.address.apiUrl + path, options), 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, connection: response.headers.connection };
};
const withKey = () => ({ headers: { 'X-API-Key': stack.address.apiKey } });

attackFromOutside(
  'keeping connections open without a key or a running sandbox',
  'a connection ends with its first answer',
  async () => {
    expect(await ask('/sandboxes')).toEqual({ status: 401, connection: 'close' });
    const agent = new Agent({ keepAlive: true });
    expect(await ask('/sandboxes', { ...withKey(), agent })).toEqual({
      status: 200,
      connection: 'keep-alive',
    });
    const { sandboxId } = await stack.createSandbox();
    const routing = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': '49983' };
    expect(await ask('/health', { agent, headers: routing })).toEqual({
      status: 204,
      connection: 'keep-alive',
    });
    const unknown = { ...routing, 'E2b-Sandbox-Id': 'iunknown' };
    expect((await ask('/health', { headers: unknown })).connection).toBe('close');
    agent.destroy();
  },
);

attackFromOutside(
  'taking every connection of the port without a key',
  'bounds of connections, the oldest idle one ends',
  async () => {
    const { port, hostname } = new URL(stack.address.apiUrl);
    const idle: Socket[] = [];
    try {
      for (let round = 0; round < 60; round += 1) {
        const opened = Array.from({ length: 50 }, () =>
          connect({ port: Number(port), host: hostname }).on('error', () => undefined),
        );
        idle.push(...opened);
        await Promise.all(opened.map((socket) => once(socket, 'connect')));
      }
      expect((await ask('/sandboxes', withKey())).status).toBe(200);
      await expect.poll(() => idle.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(0);
      await expect.poll(() => stack.log()).toContain('there are too many connections without a key');
    } finally {
      for (const socket of idle) socket.destroy();
    }
  },
);
