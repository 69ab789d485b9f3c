import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { AgentInit } from '@skerry/contract/agent-control';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NewSandbox } from '../store/rows.ts';
import { initAgent, setUpAgent } from './agent.ts';

const init: AgentInit = {
  sandboxId: 'i1',
  templateId: 't1',
  envVars: { NAME: 'значение' },
  accessTokenSha256: 'cd'.repeat(32),
  cpuCount: 2,
  memoryMb: 1024,
  edgeNonce: 'ab'.repeat(32),
  timestamp: '2026-01-01T00:00:00.000Z',
  defaultUser: 'user',
};

/** The private channel of an agent, as far as this protocol needs it: HTTP on a unix socket. */
const startAgent = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-agent-'));
  const server = createServer(answer);
  const path = join(folder, 'control.sock');
  server.listen(path);
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  const sockets: Socket[] = [];
  const control = async () => {
    const socket = connect(path);
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  return { control, sockets };
};

const signal = AbortSignal.timeout(20_000);

describe('initAgent', () => {
  it('posts everything as one JSON body, and closes the channel', async () => {
    const seen: unknown[] = [];
    const { control, sockets } = await startAgent((request, response) => {
      seen.push(request.method, request.url, request.headers['content-type']);
      void json(request).then((body) => {
        seen.push(body);
        response.writeHead(204).end();
      });
    });
    await initAgent({ control }, init, { signal });
    expect(seen).toEqual(['POST', '/init', 'application/json', init]);
    expect(sockets.map((socket) => socket.destroyed)).toEqual([true]);
  });

  it('reads only the beginning of a response without an end', async () => {
    const { control } = await startAgent((_request, response) => {
      response.writeHead(400);
      const flood = (): void => {
        while (!response.destroyed && response.write('flood'.repeat(1000)));
      };
      response.on('drain', flood);
      flood();
    });
    await expect(initAgent({ control }, init, { signal })).rejects.toThrow(
      /answered 400 to \/init: (flood){100}$/,
    );
  });

  it('rejects with status and text when the agent refuses', async () => {
    const { control, sockets } = await startAgent((_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"code":401,"message":"no"}');
    });
    await expect(initAgent({ control }, init, { signal })).rejects.toThrow(/401.*"no"/);
    expect(sockets.map((socket) => socket.destroyed)).toEqual([true]);
  });

  it('rejects when the agent disconnects', async () => {
    const { control } = await startAgent((request) => request.socket.destroy());
    await expect(initAgent({ control }, init, { signal })).rejects.toThrow();
  });

  it('rejects when the signal aborts while the agent does not respond', async () => {
    const { control, sockets } = await startAgent(() => {});
    const silent = initAgent({ control }, init, { signal: AbortSignal.timeout(50) });
    await expect(silent).rejects.toMatchObject({ name: expect.stringMatching(/Abort|Timeout/) });
    expect(sockets.map((socket) => socket.destroyed)).toEqual([true]);
  });
});

describe('setUpAgent', () => {
  it.each([
    ['', '', { defaultUser: 'user' }],
    ['app', '', { defaultUser: 'app' }],
    ['1500:staff', '/srv', { defaultUser: '1500/staff', defaultWorkdir: '/srv' }],
  ])(
    'sends the user "%s" and the folder "%s" of the template in the form of the agent',
    async (defaultUser, defaultWorkdir, sent) => {
      const seen: Partial<AgentInit>[] = [];
      const { control } = await startAgent((request, response) => {
        void json(request).then((body) => {
          seen.push(body as AgentInit);
          response.writeHead(204).end();
        });
      });
      const sandbox = { id: 'i1', templateId: 't1', secure: true, envVars: {}, defaultUser, defaultWorkdir };
      const options = { secret: 'secret', clock: { now: () => 0 }, signal };
      await setUpAgent({ control, runId: 'r1' }, sandbox as NewSandbox, options);
      const [{ defaultUser: user, defaultWorkdir: workdir } = {}] = seen;
      expect({ defaultUser: user, ...(workdir !== undefined && { defaultWorkdir: workdir }) }).toEqual(sent);
    },
  );
});
