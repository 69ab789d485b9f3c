import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ApiError } from '@skerry/contract/error';
import { describe, expect, it } from 'vitest';
import { agentHost, answerTo, ask, host, id, net, send, useLoopback } from '../loopback-client.ts';

const accessToken = 'secret';
const limits = { connectionLimit: 20, heldLimit: 30, heldMs: 400 };
useLoopback({ accessToken, ...limits });

/** Pauses the sandbox; resolves with what its requests wait for. */
const pause = (sandboxId = id) => {
  const waiting = Promise.withResolvers<void>();
  // Some tests fail it before a request waits for it: this marks the rejection as handled.
  waiting.promise.catch(() => undefined);
  let wakes = 0;
  net.pause(sandboxId, () => {
    wakes += 1;
    return waiting.promise;
  });
  return {
    wakes: () => wakes,
    fail: (error: Error) => waiting.reject(error),
    run: async () => {
      net.start(sandboxId);
      await net.serve(sandboxId, 3000, async (req, res) => res.end(`${req.url}|${await text(req)}`));
      await net.serve(sandboxId, 49_983, (req, res) => res.end(`agent ${req.url}`));
      waiting.resolve();
    },
  };
};
const browser = { 'user-agent': 'Mozilla/5.0', accept: 'text/html' };

describe('a request for a paused sandbox', () => {
  it('waits until the sandbox runs, and is served then with its body', async () => {
    const paused = pause();
    const answers = Array.from({ length: 10 }, (_, index) =>
      ask({ host: host(3000) }, { path: `/${index}`, method: 'POST' }, `body ${index}`),
    );
    await expect.poll(paused.wakes).toBe(10);
    await paused.run();
    for (const [index, answer] of (await Promise.all(answers)).entries())
      expect(answer).toMatchObject({ status: 200, text: `/${index}|body ${index}` });
  });

  it('may be an upgrade, whose early bytes wait too', async () => {
    const paused = pause();
    const client = connect({ port: net.port, host: '127.0.0.1' });
    client.write(
      `GET / HTTP/1.1\r\nHost: ${host(4000)}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly`,
    );
    await expect.poll(paused.wakes).toBe(1);
    const begun = paused.run();
    await net.serveTcp(id, 4000, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
        socket.on('data', (chunk) => socket.write(chunk));
      });
    });
    await begun;
    let seen = '';
    client.on('data', (chunk) => {
      seen += String(chunk);
    });
    await expect.poll(() => seen).toMatch(/^HTTP\/1\.1 101 .*\r\n\r\nearly$/s);
    client.destroy();
  });

  it('gets the refusal of the resume, by its kind', async () => {
    const cases = [
      [new ApiError('conflict', 'busy'), 409, 'busy'],
      [new ApiError('resource_exhausted', 'the limit of 3'), 429, 'the limit of 3'],
      [new ApiError('internal', 'it broke'), 403, 'The sandbox could not be resumed: it broke'],
      [
        new ApiError('unavailable', 'node "a" is full'),
        403,
        'The sandbox could not be resumed: there is no place for it now',
      ],
      [new ApiError('not_found', 'it ended'), 502, 'The sandbox was not found'],
    ] as const;
    for (const [error, status, message] of cases) {
      const paused = pause();
      paused.fail(error);
      const answer = await ask({ host: host(3000) });
      expect(JSON.parse(answer.text)).toEqual({ sandboxID: id, sandboxId: id, message, code: status });
      expect(answer.status).toBe(status);
    }
  });

  it('gets the time after which another attempt begins', async () => {
    pause().fail(new ApiError('internal', 'it broke', { headers: { 'Retry-After': '8' } }));
    expect((await ask({ host: host(3000) })).headers['retry-after']).toBe('8');
  });

  it('waits for a bounded time, then gets 409', async () => {
    const paused = pause();
    expect(await ask({ host: host(3000) })).toMatchObject({
      status: 409,
      text: expect.stringContaining('still being resumed'),
    });
    expect(paused.wakes()).toBe(1);
  });

  it('gets 502 when the sandbox is gone after the resume', async () => {
    net.pause(id, async () => net.end(id));
    expect(await ask({ host: host(3000) })).toMatchObject({
      status: 502,
      text: expect.stringContaining('The sandbox was not found'),
    });
  });

  it('is one of a bounded number, for each sandbox and in all, and those that leave make room', async () => {
    const other = 'iother0123456789abcd';
    const [paused, second] = [pause(), pause(other)];
    const held = Array.from({ length: 20 }, () => send({ headers: { host: host(3000) } }));
    for (const client of held) client.on('error', () => {});
    await expect.poll(paused.wakes).toBe(20);
    const refused = await ask({ host: host(3000) });
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect(JSON.parse(refused.text)).toMatchObject({ connectionLimit: 20 });
    const more = Array.from({ length: 10 }, () => send({ headers: { host: host(3000, other) } }));
    for (const client of more) client.on('error', () => {});
    await expect.poll(second.wakes).toBe(10);
    const full = await ask({ host: host(3000, other) });
    expect(full.status).toBe(429);
    expect(JSON.parse(full.text)).toMatchObject({ connectionLimit: 30 });
    for (const client of [...held, ...more]) client.destroy();
    await expect
      .poll(async () => {
        const client = send({ headers: { host: host(3000, other) } });
        return (await answerTo(client)).statusCode;
      })
      .toBe(409);
  });
});

describe('a request for the agent of a paused sandbox', () => {
  it('resumes nothing without its token, also for the open route and for a preflight', async () => {
    const paused = pause();
    const attempts = [
      ask({ host: agentHost }, { path: '/health' }),
      ask({ host: agentHost, 'x-access-token': 'wrong' }, { path: '/health' }),
      ask({ host: agentHost }, { path: '/files?path=/a' }),
      ask({ host: agentHost }, { path: '/files?path=/a&signature=v1_wrong' }),
      ask({ host: agentHost, 'x-access-token': '' }, { path: '/process.Process/List', method: 'POST' }),
    ];
    for (const { status, text: body } of await Promise.all(attempts)) {
      expect(status).toBe(403);
      expect(JSON.parse(body)).toMatchObject({ sandboxID: id, code: 403 });
    }
    const preflight = { host: agentHost, origin: 'https://x.test', 'access-control-request-method': 'GET' };
    expect((await ask(preflight, { method: 'OPTIONS', path: '/health' })).status).toBe(204);
    expect(paused.wakes()).toBe(0);
  });

  it('is served with the token, and with a signature that opens its file', async () => {
    const paused = pause();
    const hash = createHash('sha256').update(`/a:read:user:${accessToken}`).digest('base64');
    const signature = `v1_${hash.replaceAll('=', '')}`;
    const query = new URLSearchParams({ path: '/a', username: 'user', signature });
    const answers = [
      ask({ host: agentHost, 'x-access-token': accessToken }, { path: '/health' }),
      ask({ host: agentHost }, { path: `/files?${query}` }),
    ];
    await expect.poll(paused.wakes).toBe(2);
    await paused.run();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
  });
});

describe('a browser that opens a page of a paused sandbox', () => {
  it('gets a page at once, which opens the address when the sandbox runs', async () => {
    const paused = pause();
    const answer = await answerTo(send({ headers: { host: host(3000), ...browser } }));
    expect(answer.statusCode).toBe(503);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store' });
    let page = '';
    answer.on('data', (chunk) => {
      page += String(chunk);
    });
    await expect.poll(() => page).toContain('This page opens by itself');
    expect(page).not.toContain('http-equiv');
    await paused.run();
    await once(answer, 'end');
    expect(page).toContain('<meta http-equiv="refresh" content="0">');
    expect(await ask({ host: host(3000), ...browser })).toMatchObject({ status: 200 });
  });

  it('gets the reason in the page, without markup of others, and does not try again by itself', async () => {
    pause().fail(new ApiError('internal', '<b>it broke</b>'));
    const { text: page } = await ask({ host: host(3000), ...browser });
    expect(page).toContain('could not be resumed: &#60;b&#62;it broke');
    expect(page).not.toContain('http-equiv');
    expect(page).toContain('clearTimeout(reload)');
  });

  it('waits as others do when it does not ask for a page', async () => {
    const paused = pause();
    const answer = ask({ host: host(3000), 'user-agent': 'Mozilla/5.0 (compatible)', accept: '*/*' });
    await expect.poll(paused.wakes).toBe(1);
    await paused.run();
    expect(await answer).toMatchObject({ status: 200 });
  });

  it('waits as others do when it sends a form or its script asks', async () => {
    const paused = pause();
    const form = ask({ host: host(3000), ...browser }, { method: 'POST' }, 'a=b');
    const script = ask({ host: host(3000), ...browser, 'sec-fetch-mode': 'cors' });
    await expect.poll(paused.wakes).toBe(2);
    await paused.run();
    expect(await form).toMatchObject({ status: 200, text: '/|a=b' });
    expect(await script).toMatchObject({ status: 200 });
  });
});

describe('an edge that closes', () => {
  it('resets the connections of requests that wait', async () => {
    const paused = pause();
    const client = send({ headers: { host: host(3000) } });
    const failed = once(client, 'error');
    await expect.poll(paused.wakes).toBe(1);
    await Promise.all([net.edge.close(), failed]);
  });
});
