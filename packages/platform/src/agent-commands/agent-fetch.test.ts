import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { collectGarbage } from '@skerry/contract/collect-garbage';
import { expect, it, onTestFinished } from 'vitest';
import { createAgentFetch } from './agent-fetch.ts';
import { createSandboxRunner } from './run-in-sandbox.ts';

/** Begins every answer and ends none. */
const startServer = async (): Promise<number> => {
  const server = createServer((_request, response) => void response.writeHead(200).write('begun'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

const url = 'http://localhost/';
type Fetch = typeof globalThis.fetch;

it.each<[name: string, call: (fetch: Fetch, signal: AbortSignal) => Promise<Response>]>([
  ['a URL', (fetch, signal) => fetch(url, { signal })],
  ['a request', (fetch, signal) => fetch(new Request(url, { signal }))],
])('ends an answer to %s when its signal aborts, also after the collector has run', async (_name, call) => {
  const port = await startServer();
  const fetch = createAgentFetch({
    connect: async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  });
  const ended = new AbortController();
  const response = await call(fetch, ended.signal);
  const text = response.text();
  for (let round = 0; round < 3; round++) {
    await turn();
    collectGarbage('major');
  }
  ended.abort(new Error('the end'));
  await expect(text).rejects.toThrow();
});

it('follows no redirect of what answers in place of the agent', async () => {
  let calls = 0;
  const inside = createServer((_request, response) => {
    calls += 1;
    response.end('secret');
  });
  inside.listen(0, '127.0.0.1');
  await once(inside, 'listening');
  const location = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`;
  const server = createServer((_request, response) => void response.writeHead(307, { location }).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const one of [inside, server]) one.close();
  });
  const runner = createSandboxRunner({
    connect: async () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
    control: () => Promise.reject(new Error('no call here needs it')),
  });
  const { signal } = new AbortController();
  await expect(runner.readText('/etc/passwd', { signal })).rejects.toThrow('307');
  await expect(runner.makeFolder('/srv', { signal })).rejects.toThrow(`a redirect to ${location}`);
  expect(calls).toBe(0);
});
