import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ask, host, id, net, raw, useLoopback } from './loopback-client.ts';

useLoopback();

describe('errors', () => {
  it('answers 502 with both spellings of the id when the sandbox is unknown', async () => {
    const answer = await ask({ host: host(49_983, 'iunknown') });
    expect(answer.status).toBe(502);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: 'iunknown',
      sandboxId: 'iunknown',
      message: 'The sandbox was not found',
      code: 502,
    });
  });

  it('allows a page of another origin to read the 502, also after a preflight', async () => {
    const origin = 'https://page.test';
    const answer = await ask({ host: host(49_983, 'iunknown'), origin });
    expect(answer).toMatchObject({
      status: 502,
      headers: { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' },
    });
    const preflight = await ask(
      {
        host: host(49_983, 'iunknown'),
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-access-token',
      },
      { method: 'OPTIONS' },
    );
    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'x-access-token',
      },
    });
    const plain = await ask({ host: host(49_983, 'iunknown') });
    expect(plain.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('passes the id of a request to the agent and back, and generates one where it is missing', async () => {
    const seen: unknown[] = [];
    for (const port of [49_983, 3000])
      await net.serve(id, port, (req, res) => {
        seen.push(req.headers['x-request-id']);
        res.end();
      });
    const given = await ask({ host: host(49_983), 'x-request-id': 'mine-1' });
    const made = await ask({ host: host(49_983), 'x-request-id': 'two words' });
    const users = await ask({ host: host(3000), 'x-request-id': 'two words' });
    expect(given.headers['x-request-id']).toBe('mine-1');
    expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(users.headers['x-request-id']).toBeUndefined();
    expect(seen).toEqual(['mine-1', made.headers['x-request-id'], 'two words']);
  });

  /** The body about a port on which no server listens. */
  const closedPort = {
    sandboxID: id,
    sandboxId: id,
    message: 'The sandbox is running but port is not open',
    port: 3000,
    code: 502,
  };

  it('answers 502 with the port after retrying for a second when no server listens', async () => {
    const begin = performance.now();
    const answer = await ask({ host: host(3000) });
    expect(performance.now() - begin).toBeGreaterThan(900);
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text)).toEqual(closedPort);
  });

  it('reaches a server that starts to listen after the request, with the whole body', async () => {
    const body = randomBytes(300_000);
    const pending = ask({ host: host(3000) }, { method: 'POST' }, body);
    // After 350 ms at the earliest. The edge retries however long any step takes here.
    await expect.poll(net.refusals, { interval: 5 }).toBeGreaterThan(3);
    await net.serve(id, 3000, (req, res) => {
      const hash = createHash('sha256');
      req.on('data', (chunk: Buffer) => hash.update(chunk)).on('end', () => res.end(hash.digest('hex')));
    });
    const answer = await pending;
    expect(answer.text).toBe(createHash('sha256').update(body).digest('hex'));
  });

  it('answers 502 when the server inside disconnects before a response', async () => {
    await net.serveTcp(id, 3000, (socket) => socket.once('data', () => socket.destroy()));
    const answer = await ask({ host: host(3000) });
    expect(answer.status).toBe(502);
    // The text of a closed port: clients know two texts only.
    expect(JSON.parse(answer.text)).toEqual({
      ...closedPort,
      detail: 'the connection closed before a response',
    });
  });

  it('limits the log when the server inside never answers', async () => {
    await net.serveTcp(id, 3000, (socket) => socket.end('garbage\r\n\r\n'));
    for (let count = 0; count < 5; count += 1) await ask({ host: host(3000) });
    expect(net.warnings).toEqual([
      {
        message: 'no response from a sandbox',
        code: 'HPE_INVALID_CONSTANT',
        sandboxId: id,
        port: 3000,
        untold: 0,
      },
    ]);
  });

  it('answers 502 and keeps serving when the server inside does not speak HTTP', async () => {
    await net.serveTcp(id, 3000, (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    await net.serveTcp(id, 3001, (socket) => socket.end('HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'));
    await net.serveTcp(id, 3002, (socket) => socket.end('HTTP/1.1 200 a\x01b\r\nContent-Length: 0\r\n\r\n'));
    await net.serveTcp(id, 3003, (socket) =>
      socket.end('HTTP/1.1 101 No\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    for (const port of [3000, 3001, 3002, 3003])
      expect(await ask({ host: host(port) }), `port ${port}`).toMatchObject({
        status: 502,
        text: expect.stringContaining('"The sandbox is running but port is not open"'),
      });
  });

  it('answers 502 after at most one 100 Continue when the server inside sends interim responses without end', async () => {
    await net.serveTcp(id, 3000, (socket) => {
      const flood = (): void =>
        void socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000), (error) => error ?? flood());
      socket.on('error', () => socket.destroy()).once('data', flood);
    });
    const answer = await raw(`GET / HTTP/1.1\r\nHost: ${host(3000)}\r\nConnection: close\r\n\r\n`);
    expect(answer.match(/100 Continue/g)).toHaveLength(1);
    expect(answer).toContain('HTTP/1.1 502 Bad Gateway');
  });

  it.each([
    '/init',
    '//init',
    '/x/../init',
    '/init/',
    '/%69nit?a=b',
    '/freeze',
    '/unfreeze',
    '/collapse',
    '/fsfreeze',
    '/fsthaw',
    '/upgrade',
  ])('answers 404 for the internal route %s of the agent without a lookup of the sandbox', async (path) => {
    const answer = await ask({ host: host(49_983, 'iunknown') }, { path, method: 'POST' });
    expect(answer.status).toBe(404);
    const body = JSON.parse(answer.text) as { path: string; message: string; code: number };
    expect(body).toEqual({
      message: expect.any(String),
      path: expect.stringMatching(/^\/[a-z]+$/),
      code: 404,
    });
  });

  it('forwards the path /init to every other port', async () => {
    await net.serve(id, 3000, (req, res) => res.end(req.url));
    expect((await ask({ host: host(3000) }, { path: '/init' })).text).toBe('/init');
  });

  it.each([
    ['0-iabc.example.test'],
    ['65536-iabc.example.test'],
    ['123456789-iabc.example.test'],
    ['abc-iabc.example.test'],
    ['-iabc.example.test'],
    ['3000-.example.test'],
    ['3000-i_a.example.test'],
    ['3000-iabc'],
    ['sandbox.example.test'],
  ])('answers 400 with a short text for the host %s', async (name) => {
    const answer = await ask({ host: name });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.text.length).toBeGreaterThan(10);
    expect(answer.text.length).toBeLessThan(100);
  });

  it.each([
    [{ 'e2b-sandbox-id': id }],
    [{ 'e2b-sandbox-port': '49983' }],
    [{ 'e2b-sandbox-id': id, 'e2b-sandbox-port': 'x' }],
    [{ 'e2b-sandbox-id': '../x', 'e2b-sandbox-port': '80' }],
  ])('answers 400 for the routing headers %j', async (headers) => {
    const answer = await ask({ host: 'localhost', ...headers } as Record<string, string>);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
  });

  const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', accept: 'text/html,*/*' };

  it('answers a browser navigation with a page that contains id and port', async () => {
    const answer = await ask({ host: host(3000, 'iunknown'), ...browser, 'sec-fetch-mode': 'navigate' });
    expect(answer.status).toBe(502);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('iunknown');
    expect(answer.text).toContain('3000');
  });

  it.each([
    [{ 'user-agent': 'Opera/9.80 (X11; Linux x86_64) Presto/2.12.388', accept: 'text/html' }],
    [{ 'user-agent': 'Lynx/2.9.2 libwww-FM/2.14', accept: 'text/html, text/plain' }],
    [{ 'user-agent': 'w3m/0.5.3' }],
    [{ ...browser, accept: 'application/json, text/html;q=0.5' }],
    [{ ...browser, accept: '*/*' }],
  ])('answers with the page for every browser that may show it: %j', async (headers) => {
    const answer = await ask({ host: host(3000, 'iunknown'), ...headers } as Record<string, string>);
    expect([answer.status, answer.headers['content-type']]).toEqual([502, 'text/html; charset=utf-8']);
  });

  it.each([
    [{ ...browser, 'sec-fetch-mode': 'cors' }],
    [{ ...browser, accept: 'application/json' }],
    [{ ...browser, accept: 'Application/JSON; charset=utf-8, application/problem+json;q=0.9' }],
    [{ 'user-agent': 'curl/8', accept: '*/*' }],
  ])('answers with JSON when the request is not a navigation: %j', async (headers) => {
    const answer = await ask({ host: host(3000, 'iunknown'), ...headers });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });
});
