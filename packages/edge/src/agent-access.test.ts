import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentHost, ask, host, id, net, raw, useLoopback } from './loopback-client.ts';

const accessToken = 'token of the sandbox';
useLoopback({ accessToken });

/** The requests that reached the agent in the current test. */
let seen: IncomingMessage[];
beforeEach(async () => {
  seen = [];
  const inside = await net.serve(id, 49_983, (req, res) => {
    seen.push(req);
    req.resume();
    res.end('inside');
  });
  inside.on('upgrade', (req, socket) => {
    seen.push(req);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
  });
});
const last = (): IncomingMessage | undefined => seen.at(-1);
const sign = (...parts: (string | number)[]): string =>
  `v1_${createHash('sha256')
    .update([...parts, accessToken].join(':'))
    .digest('base64')
    .replaceAll('=', '')}`;
const link = (path: string): string =>
  `/files?${new URLSearchParams({ path, signature: sign(path, 'read', '') })}`;

describe('a request to the agent', () => {
  it('arrives without the token, with the nonce of the run in its place', async () => {
    const answer = await ask({ host: agentHost, 'X-Access-Token': accessToken }, { path: '/envs?a=b' });
    expect(answer).toMatchObject({ status: 200, text: 'inside' });
    expect(last()?.url).toBe('/envs?a=b');
    expect(last()?.headers).toMatchObject({ 'x-skerry-access': 'full nonce-of-r1' });
    expect(JSON.stringify(last()?.rawHeaders)).not.toContain(accessToken);
    net.end(id);
    net.start(id);
    await net.serve(id, 49_983, (req, res) => {
      seen.push(req);
      res.end();
    });
    await ask({ host: agentHost, 'X-Access-Token': accessToken }, { path: '/envs' });
    expect(last()?.headers).toMatchObject({ 'x-skerry-access': 'full nonce-of-r2' });
  });

  it('arrives without the signature that opened it', async () => {
    expect((await ask({ host: agentHost }, { path: link('a b') })).status).toBe(200);
    expect(last()?.url).toBe('/files?path=a+b');
    expect(last()?.headers).toMatchObject({ 'x-skerry-access': 'signature nonce-of-r1' });
    const leaks = { referer: `http://${agentHost}${link('a b')}`, 'X-API-Key': 'e2b_0' };
    const both = { host: agentHost, 'x-access-token': accessToken, ...leaks };
    expect((await ask(both, { path: link('c') })).status).toBe(200);
    expect([last()?.url, last()?.headers['x-skerry-access']]).toEqual(['/files?path=c', 'full nonce-of-r1']);
    for (const name of Object.keys(leaks)) expect(last()?.headers).not.toHaveProperty(name.toLowerCase());
  });

  it.each([
    '&?path=/etc/shadow&path=a&username=user',
    '&&?username=root&path=a',
    '&%3Fpath=b&path=a',
    '&path=a&username=root',
    '&p%61th=a&=&=b&x',
    '&path=a%2Bb+c%20d;path=b&x;y=%26path=b',
    '&path=%00%zz%&x=%ff%c3',
    '&path=%fc%c3%bc',
    '&path=a#b&x=c',
  ])('has the parameters that the edge has checked: %s', async (rest) => {
    const checked = new URLSearchParams(`signature=x${rest}`);
    const [path, username] = [checked.get('path') ?? '', checked.get('username') ?? ''];
    const signature = encodeURIComponent(sign(path, 'read', username));
    for (const query of [`signature=${signature}${rest}`, `?signature=${signature}${rest}`]) {
      await raw(`GET /files?${query} HTTP/1.1\r\nHost: ${agentHost}\r\nConnection: close\r\n\r\n`);
      const [url = ''] = seen.splice(0).map((request) => request.url);
      checked.delete('signature');
      // Readers differ in whether a question mark at the start belongs to the first name.
      const { pathname, searchParams } = new URL(url, 'http://agent.test');
      expect([pathname, ...searchParams]).toEqual(['/files', ...checked]);
      expect([...new URLSearchParams(url.slice('/files?'.length))]).toEqual([...checked]);
    }
  });

  it.each(['path=a&path=b', 'path=a&username=&username=root', 'path=a&p%61th=a'])(
    'does not arrive with a signature and a parameter that stands twice: %s',
    async (rest) => {
      const signature = encodeURIComponent(sign('a', 'read', ''));
      const answer = await ask({ host: agentHost }, { path: `/files?signature=${signature}&${rest}` });
      expect([answer.status, seen]).toEqual([400, []]);
    },
  );

  it.each([
    ['GET /envs', {}, 401, 'missing X-Access-Token header'],
    ['GET /envs', { 'x-access-token': 'wrong' }, 401, 'invalid access token'],
    ['GET /files?path=a', {}, 401, 'missing signature query parameter'],
    [`GET ${link('a')}x`, {}, 401, 'invalid signature'],
    [`GET ${link('a')}`, { 'x-access-token': 'wrong' }, 401, 'invalid access token'],
    [`HEAD ${link('a')}`, {}, 401, ''],
    ['OPTIONS /files', {}, 401, 'missing X-Access-Token header'],
    [
      'GET /files?path=a&signature_expiration=x',
      {},
      400,
      'signature_expiration must be a Unix time in seconds',
    ],
    ['POST /process.Process/List', {}, 401, 'missing X-Access-Token header'],
  ])('is refused by the edge alone: %s', async (route, headers, status, message) => {
    const [method = '', path = ''] = route.split(' ');
    const answer = await ask({ host: agentHost, origin: 'https://page.test', ...headers }, { method, path });
    expect([answer.status, answer.headers]).toMatchObject([
      status,
      {
        'content-type': 'application/json',
        'access-control-allow-origin': '*',
        'x-request-id': expect.any(String),
      },
    ]);
    if (method !== 'HEAD') expect(JSON.parse(answer.text)).toEqual({ code: status, message });
    expect([seen, net.dialled]).toEqual([[], []]);
  });

  it('arrives without an expectation, which the server of the edge meets', async () => {
    const head = `Host: ${agentHost}\r\nX-Access-Token: ${accessToken}\r\nConnection: close\r\n`;
    const answer = await raw(
      `POST /envs HTTP/1.1\r\n${head}Expect: 100-continue\r\nContent-Length: 1\r\n\r\na`,
    );
    expect(answer).toContain('HTTP/1.1 200 ');
    expect(last()?.headers).not.toHaveProperty('expect');
  });

  it('cannot speak for the edge: its own header is removed, however it is spelled', async () => {
    const forged = 'full nonce-of-r1';
    const spellings = ['x-skerry-access', 'X-Skerry-Access', 'X-SKERRY-ACCESS'];
    for (const name of spellings) {
      expect((await ask({ host: agentHost, [name]: forged }, { path: '/envs' })).status).toBe(401);
      const given = { host: agentHost, [name]: 'signature x', 'x-access-token': accessToken };
      expect((await ask(given, { path: '/envs' })).status).toBe(200);
      expect(last()?.headers['x-skerry-access']).toBe(forged);
    }
    await raw(
      `GET /envs HTTP/1.1\r\nHost: ${agentHost}\r\nX-Access-Token: ${accessToken}\r\nConnection: close, x-skerry-access\r\nX-Skerry-Access: a\r\nx-skerry-access: b\r\n\r\n`,
    );
    expect(last()?.headers['x-skerry-access']).toBe(forged);
    expect(await ask({ host: agentHost, 'x-skerry-access': forged }, { path: '/health' })).toMatchObject({
      status: 200,
    });
  });

  it('is not checked when it is a preflight, and carries no nonce', async () => {
    const preflight = {
      host: agentHost,
      origin: 'https://page.test',
      'access-control-request-method': 'POST',
      'x-skerry-access': 'full nonce-of-r1',
    };
    expect((await ask(preflight, { method: 'OPTIONS', path: '/envs' })).status).toBe(200);
    expect(last()?.headers).not.toHaveProperty('x-skerry-access');
    expect((await ask(preflight, { method: 'OPTIONS', path: link('a b') })).status).toBe(200);
    expect(last()?.url).toBe('/files?path=a+b');
  });

  it('arrives without a signature on every method and path', async () => {
    const token = { host: agentHost, 'x-access-token': accessToken };
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'DELETE'])
      for (const path of ['/files', '/files/', '/%66iles', '/files/compose', '/envs', '/none']) {
        await ask(token, { method, path: `${path}?a=b&signature_expiration=1&%73ignature=v1_x` });
        expect([seen.length, last()?.method, seen.pop()?.url]).toEqual([1, method, `${path}?a=b`]);
      }
  });

  it('is checked before an upgrade too', async () => {
    const upgrade = async (token: string): Promise<string> => {
      const socket = connect({ port: net.port, host: '127.0.0.1' });
      socket.write(
        `GET /envs HTTP/1.1\r\nHost: ${agentHost}\r\nX-Access-Token: ${token}\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n`,
      );
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return bytes.toString();
    };
    expect(await upgrade('wrong')).toMatch(/^HTTP\/1\.1 401 /);
    expect(seen).toEqual([]);
    expect(await upgrade(accessToken)).toMatch(/^HTTP\/1\.1 101 /);
    expect(last()?.headers).toMatchObject({ 'x-skerry-access': 'full nonce-of-r1' });
    expect(JSON.stringify(last()?.rawHeaders)).not.toContain(accessToken);
  });

  it('whose body is refused leaves the connection usable', async () => {
    const body = Buffer.alloc(1 << 20);
    const answer = await ask({ host: agentHost }, { method: 'POST', path: '/files?path=a' }, body);
    expect(answer.status).toBe(401);
    expect(seen).toEqual([]);
  });
});

describe('a request to another port', () => {
  it('keeps its headers and its query', async () => {
    await net.serve(id, 3000, (req, res) => {
      seen.push(req);
      res.end();
    });
    const headers = { host: host(3000), 'x-access-token': 'own', 'x-skerry-access': 'own' };
    expect((await ask(headers, { path: link('a') })).status).toBe(200);
    expect(last()?.headers).toMatchObject({ 'x-access-token': 'own', 'x-skerry-access': 'own' });
    expect(last()?.url).toBe(link('a'));
  });
});
