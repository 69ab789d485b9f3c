import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { attackFromOutside } from './attack.ts';
import { SERVER, startInOwnNetwork } from './own-network.ts';

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

/** Holds as many connections to an address and port as it is asked for, and prints how many are still open whenever it is asked. */
const holder = `
import select, socket, sys
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
held = [socket.create_connection((host, port)) for _ in range(count)]
def is_open(one):
    if not select.select([one], [], [], 0)[0]: return True
    try: return one.recv(1) != b""
    except OSError: return False
print("held", flush=True)
for _ in sys.stdin:
    held = [one for one in held if is_open(one)]
    print(len(held), flush=True)
`;

attackFromOutside(
  'taking the connections of other addresses without a key, from one address',
  'a bound for each address, below that of all',
  async () => {
    // Few files give low bounds. The addresses of this host have no bound of their own: these callers are on other machines.
    await using network = await startInOwnNetwork({
      machines: ['outsider', 'other'],
      through: ['prlimit', '--nofile=1024:1024'],
      args: ['--host', '0.0.0.0', '--plain-http'],
    });
    const ends: (() => void)[] = [];
    const hold = async (name: string, count: number): Promise<() => Promise<number>> => {
      const [file = '', ...before] = network.lab.host(name).through;
      const place = [network.lab.host(SERVER).address, String(network.port), String(count)];
      const child = spawn(file, [...before, 'python3', '-c', holder, ...place], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      ends.push(() => child.kill('SIGKILL'));
      const read = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]).trim();
      expect(await read()).toBe('held');
      return async () => {
        const answer = read();
        child.stdin.write('\n');
        return Number(await answer);
      };
    };
    try {
      const countOther = await hold('other', 10);
      const countOutsider = await hold('outsider', 60);
      // A sixteenth of the 384 connections for which there are files.
      await expect.poll(countOutsider, { interval: 100 }).toBe(24);
      expect(await countOther()).toBe(10);
      expect(network.log()).toContain('one address has too many connections without a key');
      expect(network.log()).not.toContain('there are too many connections');
      expect((await network.client.api.GET('/sandboxes')).response.status).toBe(200);
    } finally {
      for (const end of ends) end();
    }
  },
);
