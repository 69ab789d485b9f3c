import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { ask, host, id, net, useLoopback } from '../loopback-client.ts';

const trafficToken = 'traffic token of the sandbox';
useLoopback({ ports: { trafficToken } });

let seen: IncomingMessage[];
beforeEach(async () => {
  seen = [];
  const note = (request: IncomingMessage): void => void seen.push(request);
  const inside = await net.serve(id, 8000, (request, response) => {
    note(request);
    response.end('inside');
  });
  inside.on('upgrade', (request, socket) => {
    note(request);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
  });
});

const sign = ({ port = 8000, of = id, inSeconds = 60, key = trafficToken } = {}): string => {
  const expiry = Math.floor(Date.now() / 1000) + inSeconds;
  return `v1.${expiry}.${createHmac('sha256', key).update(`port-link:${port}-${of}:${expiry}`).digest('hex')}`;
};
const own = { host: host(8000) };
const withCookie = (ticket: string, more: Record<string, string> = {}) =>
  ask({ ...own, cookie: `skerry_link=${ticket}`, ...more });
const open = (path: string, headers: Record<string, string> = {}) => ask({ ...own, ...headers }, { path });

const wrong: [string, string][] = [
  ['expired', sign({ inSeconds: -1 })],
  ['for longer than a day', sign({ inSeconds: 90_000 })],
  ['of another port', sign({ port: 8001 })],
  ['of another sandbox', sign({ of: 'i9' })],
  ['signed with another token', sign({ key: 'of another sandbox' })],
  ['with a later expiry', sign().replace(/^v1\.\d+/, `v1.${Math.floor(Date.now() / 1000) + 3600}`)],
  ['with an expiry in another form', sign().replace('v1.', 'v1.0')],
  ['without a signature', sign().replace(/\.[^.]*$/, '.')],
  ['empty', ''],
];

describe('a link to a private port', () => {
  it('leads to the address without it, with a cookie of this host that programs and pages do not see', async () => {
    const ticket = sign();
    const answer = await open(`/a/b?x=1&skerry_link=${ticket}&y=%2F`);
    expect(answer).toMatchObject({
      status: 303,
      headers: { location: '/a/b?x=1&y=%2F', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    });
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^skerry_link=v1\.[^;]+; Path=\/; Max-Age=(59|60); HttpOnly; SameSite=Lax$/);
    expect(seen).toEqual([]);
    expect(await withCookie(ticket)).toMatchObject({ status: 200, text: 'inside' });
  });

  it('is exchanged for requests without a body alone, which a redirect would lose', async () => {
    const path = `/?skerry_link=${sign()}`;
    expect(await ask(own, { path, method: 'POST' }, 'a=b')).toMatchObject({ status: 403 });
    expect(await ask(own, { path, method: 'HEAD' })).toMatchObject({ status: 303 });
  });

  it('sets a cookie for TLS alone behind a proxy with TLS', async () => {
    const answer = await open(`/?skerry_link=${sign()}`, { 'x-forwarded-proto': 'https, http' });
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^__Host-skerry_link=.*; Secure$/);
    expect(await ask({ ...own, cookie: `__Host-skerry_link=${sign()}` })).toMatchObject({ status: 200 });
  });

  it.each(['//evil.test/', '/\\evil.test/', '///evil.test', '/\\/\\evil.test'])(
    'leads to no other host: %s',
    async (path) => {
      const { headers } = await open(`${path}?skerry_link=${sign()}`);
      expect(new URL(headers.location ?? '', 'http://own.test').host).toBe('own.test');
    },
  );

  it.each(wrong)('is refused when it is %s', async (_what, ticket) => {
    const answer = await open(`/?skerry_link=${ticket}`);
    expect(answer.status).toBe(403);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: id,
      sandboxId: id,
      message:
        'The ports of the sandbox are private: the header e2b-traffic-access-token is missing, and the link has expired or is of another port',
      code: 403,
    });
  });
});

describe('the cookie of a link', () => {
  it.each(wrong)('is refused when it is %s', async (_what, ticket) => {
    expect(await withCookie(ticket)).toMatchObject({ status: 403 });
    expect(seen).toEqual([]);
  });

  it('does not reach the program, and the others do', async () => {
    const ticket = sign();
    const cookie = `a=1; skerry_link=${ticket}; __Host-skerry_link=${ticket}; b="x;y"`;
    expect(await ask({ ...own, cookie })).toMatchObject({ status: 200 });
    expect(await ask({ ...own, cookie, 'e2b-traffic-access-token': trafficToken })).toMatchObject({
      status: 200,
    });
    expect(await withCookie(ticket)).toMatchObject({ status: 200 });
    expect(seen.map(({ headers }) => headers.cookie)).toEqual(['a=1; b="x; y"', 'a=1; b="x; y"', undefined]);
    expect(JSON.stringify(seen.map(({ rawHeaders }) => rawHeaders))).not.toContain(ticket);
  });

  it('hides a link from the program that does not open the port, or is of a request with a body', async () => {
    const [expired, valid] = [sign({ inSeconds: -1 }), sign()];
    const cookie = `skerry_link=${valid}`;
    expect(await open(`/a?skerry_link=${expired}&x=1`, { cookie })).toMatchObject({ status: 200 });
    expect(await ask({ ...own, cookie }, { path: `/b?skerry_link=${valid}`, method: 'POST' })).toMatchObject({
      status: 200,
    });
    expect(seen.map(({ url }) => url)).toEqual(['/a?x=1', '/b']);
  });

  it('is not hidden by one that another sandbox sets for the domain', async () => {
    const cookie = `skerry_link=${sign({ key: 'x' })}; skerry_link=${sign()}`;
    expect(await ask({ ...own, cookie })).toMatchObject({ status: 200 });
  });

  const page = `http://${host(8000, 'i9')}`;
  it.each<[string, Record<string, string>, string]>([
    ['a form of another sandbox', { origin: page }, 'POST'],
    ['a form without an origin', { origin: 'null' }, 'POST'],
    ['a page of another port', { origin: `http://${host(8001)}` }, 'GET'],
    ['a script of another sandbox', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, 'GET'],
    [
      'a frame in another sandbox',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      'GET',
    ],
    [
      'a form that opens a page',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      'POST',
    ],
  ])('does not serve %s', async (_what, headers, method) => {
    const answer = await ask({ ...own, cookie: `skerry_link=${sign()}`, ...headers }, { method });
    expect(answer.status).toBe(403);
    expect(seen).toEqual([]);
  });

  it('serves pages of the port itself, and those who follow an ordinary link to it', async () => {
    expect(await withCookie(sign(), { origin: `http://${host(8000)}` })).toMatchObject({ status: 200 });
    const followed = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect(await withCookie(sign(), followed)).toMatchObject({ status: 200 });
    expect(await withCookie(sign(), { 'sec-fetch-site': 'same-origin' })).toMatchObject({ status: 200 });
  });

  const upgrade = async (headers: string): Promise<string> => {
    const socket = connect({ port: net.port, host: '127.0.0.1' });
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${host(8000)}\r\nConnection: Upgrade\r\nUpgrade: x\r\n${headers}\r\n`,
    );
    return text(socket);
  };
  it('opens a WebSocket of a page of the port, and of no other page', async () => {
    const cookie = `Cookie: skerry_link=${sign()}\r\n`;
    expect(await upgrade('')).toMatch(/^HTTP\/1\.1 403 /);
    expect(await upgrade(`Cookie: skerry_link=${sign({ inSeconds: -1 })}\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await upgrade(`${cookie}Origin: ${page}\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await upgrade(cookie)).toMatch(/^HTTP\/1\.1 403 /);
    expect(seen).toEqual([]);
    expect(await upgrade(`${cookie}Origin: http://${host(8000)}\r\n`)).toMatch(/^HTTP\/1\.1 101 /);
    expect(seen[0]?.headers.cookie).toBeUndefined();
  });
});
