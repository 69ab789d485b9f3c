import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server as HttpServer, request } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { EDGE_ACCESS, hashToken } from '@skerry/contract/agent-access';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const environment = async (): Promise<string> =>
  (await collectOutput(agent.processes().start({ process: { cmd: 'env' } }))).stdout;

describe('POST /init', () => {
  it('answers 204 and replaces the variables of before', async () => {
    expect((await agent.initialize({ envVars: { A: '1', B: '2' }, sandboxId: 'i1' })).status).toBe(204);
    expect(await environment()).toMatch(/^A=1$/m);
    await agent.initialize({ envVars: { B: '3' } });
    const variables = await environment();
    expect(variables).not.toMatch(/^A=/m);
    expect(variables).toMatch(/^B=3$/m);
    expect(variables).toMatch(/^E2B_SANDBOX_ID=i1$/m);
  });

  it('ignores one that is older than the last, and answers 204 for it as well', async () => {
    await agent.initialize({ envVars: { AGE: 'new' }, timestamp: '2026-02-01T00:00:00Z' });
    const { status } = await agent.initialize({ envVars: { AGE: 'old' }, timestamp: '2026-01-01T00:00:00Z' });
    expect(status).toBe(204);
    expect(await environment()).toMatch(/^AGE=new$/m);
    await agent.initialize({ envVars: {}, timestamp: '2026-02-01T00:00:01.5+00:00' });
    expect(await environment()).not.toMatch(/^AGE=/m);
  });

  it('keeps nothing of the sandbox that this one is a copy of, whatever the time is now', async () => {
    const copy = await startAgent();
    const read = (token?: string) =>
      copy.http({ path: '/envs', ...(token && { headers: { 'X-Access-Token': token } }) });
    try {
      const [first, second] = [hashToken('first'), hashToken('second')];
      const source = { sandboxId: 'i1', accessTokenSha256: first, envVars: { A: '1' } };
      await copy.initialize({ ...source, timestamp: '2026-02-01T00:00:00Z' });
      expect((await read()).status).toBe(401);
      await copy.initialize({
        sandboxId: 'i2',
        accessTokenSha256: second,
        timestamp: '2026-01-01T00:00:00Z',
      });
      expect((await read('first')).status).toBe(401);
      expect(await read('second')).toMatchObject({ status: 200, json: {} });
      await copy.initialize({ sandboxId: 'i3', timestamp: '2026-01-01T00:00:01Z' });
      expect((await read()).status).toBe(200);
    } finally {
      await copy.stop();
    }
  });

  it('takes the nonce of each run for that run alone, whatever the time is now', async () => {
    const own = await startAgent();
    const [before, after] = ['ab'.repeat(32), 'cd'.repeat(32)];
    const ask = async (nonce: string): Promise<number> =>
      (await own.http({ path: '/envs', headers: { [EDGE_ACCESS]: `full ${nonce}` } })).status;
    try {
      const settings = { sandboxId: 'i1', accessTokenSha256: hashToken('token') };
      await own.initialize({ ...settings, edgeNonce: before, timestamp: '2026-02-01T00:00:00Z' });
      expect([await ask(before), await ask(after)]).toEqual([200, 401]);
      await own.initialize({ ...settings, edgeNonce: after, timestamp: '2026-01-01T00:00:00Z' });
      expect([await ask(before), await ask(after)]).toEqual([401, 200]);
      // The order of time holds within a run.
      await own.initialize({
        ...settings,
        edgeNonce: after,
        envVars: { A: '1' },
        timestamp: '2025-12-01T00:00:00Z',
      });
      expect((await own.http({ path: '/envs', headers: { 'X-Access-Token': 'token' } })).json).toEqual({});
    } finally {
      await own.stop();
    }
  });

  it.each([
    ['a body that is no object', [], 'body'],
    ['a variable that is no string', { envVars: { A: 1 } }, 'envVars.A'],
    ['variables that are no object', { envVars: 'A=1' }, 'envVars'],
    ['a limit that is no number above 0', { memoryMb: 0 }, 'memoryMb'],
    ['a name with =', { envVars: { 'A=B': '' } }, 'envVars'],
    ['a value with NUL', { envVars: { A: 'a\0b' } }, 'envVars.A'],
    ['a token, of which it takes the hash alone', { accessToken: 'secret' }, 'accessToken'],
    ['a hash that is none', { accessTokenSha256: 'secret' }, 'accessTokenSha256'],
    ['a hash that is no string', { accessTokenSha256: 7 }, 'accessTokenSha256'],
    ['a nonce that is too short', { edgeNonce: 'ab' }, 'edgeNonce'],
    ['a timestamp that is none', { timestamp: 'yesterday' }, 'timestamp'],
    ['volume mounts, which it lacks', { volumeMounts: [{ nfs_target: 'x', path: '/x' }] }, 'volumeMounts'],
    ['a certificate bundle, which it lacks', { caBundle: 'x' }, 'caBundle'],
  ])('refuses %s with 400 naming it, and changes nothing', async (_what, body, field) => {
    await agent.initialize({ envVars: { KEPT: 'yes' } });
    const { status, json } = await agent.initialize(body as Record<string, unknown>);
    expect([status, json]).toMatchObject([400, { code: 400, message: expect.stringContaining(field) }]);
    expect(await environment()).toMatch(/^KEPT=yes$/m);
  });

  it('refuses what is no JSON', async () => {
    const { status } = await agent.http({ method: 'POST', path: '/init', socket: 'control.sock', body: '{' });
    expect(status).toBe(400);
  });

  it('is the only route of the control channel', async () => {
    for (const [method, path] of [
      ['GET', '/init'],
      ['GET', '/health'],
      ['POST', '/files'],
    ] as const) {
      expect((await agent.http({ method, path, socket: 'control.sock' })).status).toBe(404);
    }
  });
});

describe('tunnels', () => {
  const open = (authority: string): Promise<{ status: number; socket: Socket }> =>
    new Promise((resolve, reject) => {
      const outgoing = request({
        socketPath: join(agent.socketDir, 'control.sock'),
        method: 'CONNECT',
        path: authority,
      });
      outgoing.once('connect', (response, socket) =>
        resolve({ status: response.statusCode ?? 0, socket: socket as Socket }),
      );
      outgoing.once('error', reject);
      outgoing.end();
    });

  const serve = async (host: string): Promise<{ server: HttpServer; port: number }> => {
    const server = createServer((req, res) => {
      res.end(`${req.method} from ${host}`);
    });
    server.listen(0, host);
    await once(server, 'listening');
    return { server, port: (server.address() as AddressInfo).port };
  };

  it.each(['127.0.0.1', '::1'])('reach a server that is bound to %s only', async (host) => {
    const { server, port } = await serve(host);
    const { status, socket } = await open(`localhost:${port}`);
    expect(status).toBe(200);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer).toContain(`GET from ${host}`);
    server.close();
  });

  it('carry one side after the other has ended', async () => {
    const server = createTcpServer({ allowHalfOpen: true }, (peer) => {
      let bytes = 0;
      peer.on('data', (data) => {
        bytes += data.length;
      });
      // Long after the agent has looked whether the caller is still there.
      peer.once('end', () => setTimeout(() => peer.end(`got ${bytes}`), 700));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { socket } = await open(`localhost:${(server.address() as AddressInfo).port}`);
    socket.end(Buffer.alloc(5_000_000));
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer).toBe('got 5000000');
    server.close();
  });

  it('answer 502 when nothing listens', async () => {
    const { server, port } = await serve('127.0.0.1');
    server.close();
    await once(server, 'close');
    expect((await open(`localhost:${port}`)).status).toBe(502);
  });

  it.each(['localhost:0', 'localhost:65536', 'localhost:x', 'example.com:80', '127.0.0.1:80'])(
    'lead to ports of the sandbox only: %s is 400',
    async (authority) => {
      expect((await open(authority)).status).toBe(400);
    },
  );

  it('end when the caller goes away, although the server answers and never closes', async () => {
    const countOpen = () => readdirSync(`/proc/${agent.pid}/fd`).length;
    const peers: Socket[] = [];
    const server = createTcpServer({ allowHalfOpen: true }, (peer) => {
      peers.push(peer);
      peer.on('error', () => undefined);
      // Not at once: the answer could arrive with the head of the tunnel, before the test reads.
      peer.on('data', () => peer.write('answer'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const before = countOpen();
    for (let visit = 0; visit < 3; visit++) {
      const { socket } = await open(`localhost:${port}`);
      socket.write('visit');
      await once(socket, 'data');
      socket.destroy();
    }
    await expect.poll(countOpen).toBeLessThanOrEqual(before);
    for (const peer of peers) peer.destroy();
    server.close();
  });

  it('end when the caller goes away', async () => {
    const closed = Promise.withResolvers<void>();
    const server = createTcpServer((peer) => {
      peer.on('error', () => undefined);
      peer.once('close', () => closed.resolve());
      peer.resume();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { socket } = await open(`localhost:${(server.address() as AddressInfo).port}`);
    socket.destroy();
    await closed.promise;
    server.close();
  });
});

describe('the folder of the agent', () => {
  it('holds both sockets under their names and a log that stays small', async () => {
    expect(statSync(join(agent.socketDir, 'http.sock')).isSocket()).toBe(true);
    expect(existsSync(join(agent.socketDir, 'http.sock.new'))).toBe(false);
    for (let at = 0; at < 3000; at += 1) {
      await agent.http({ path: `/${'x'.repeat(4000)}`, socket: 'control.sock' });
    }
    const sizeBytes = ['envd.log', 'envd.log.1']
      .map((name) => join(agent.socketDir, name))
      .reduce((sum, path) => sum + statSync(path).size, 0);
    expect(sizeBytes).toBeGreaterThan(256 * 1024);
    expect(sizeBytes).toBeLessThanOrEqual(1024 * 1024);
    expect(readFileSync(join(agent.socketDir, 'envd.log'), 'utf8')).not.toContain('uncaught');
  });

  it('is served over TCP as well, at the same routes', async () => {
    const response = await fetch(`http://127.0.0.1:${agent.port}/health`);
    expect(response.status).toBe(204);
  });
});
