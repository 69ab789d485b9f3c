import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { ask, host, id, net, useLoopback } from '../loopback-client.ts';

const trafficToken = 'traffic token of the sandbox';
const port = 8000;
useLoopback({ ports: { trafficToken } });

let wakes: number;
beforeEach(() => {
  wakes = 0;
  net.pause(id, async () => {
    wakes += 1;
    net.start(id);
    await net.serve(id, port, (_request, response) => response.end('inside'));
  });
});
const own = { host: host(port) };
const sign = (key: string): string => {
  const expiry = Math.floor(Date.now() / 1000) + 60;
  const signature = createHmac('sha256', key).update(`port-link:${port}-${id}:${expiry}`).digest('hex');
  return `v1.${expiry}.${signature}`;
};

describe('a private port of a paused sandbox', () => {
  it.each<[string, Record<string, string>]>([
    ['without the token', {}],
    ['with a wrong token', { 'e2b-traffic-access-token': 'x' }],
    ['of a browser', { 'user-agent': 'Mozilla/5.0', accept: 'text/html' }],
    ['with the cookie of another sandbox', { cookie: `skerry_link=${sign('x')}` }],
    [
      'of a page of another sandbox',
      { cookie: `skerry_link=${sign(trafficToken)}`, 'sec-fetch-site': 'same-site' },
    ],
  ])('refuses a request %s, which resumes nothing', async (_what, headers) => {
    expect(await ask({ ...own, ...headers })).toMatchObject({ status: 403 });
    expect(wakes).toBe(0);
  });

  it('answers a preflight without a resume', async () => {
    const preflight = { ...own, origin: 'https://x.test', 'access-control-request-method': 'GET' };
    expect(await ask(preflight, { method: 'OPTIONS' })).toMatchObject({ status: 204 });
    expect(wakes).toBe(0);
  });

  it('resumes the sandbox for a request with the token', async () => {
    expect(await ask({ ...own, 'e2b-traffic-access-token': trafficToken })).toMatchObject({ text: 'inside' });
    expect(wakes).toBe(1);
  });

  it('exchanges a link for its cookie before anything is resumed, and then opens the port', async () => {
    const ticket = sign(trafficToken);
    expect(await ask(own, { path: `/?skerry_link=${ticket}` })).toMatchObject({ status: 303 });
    expect(wakes).toBe(0);
    expect(await ask({ ...own, cookie: `skerry_link=${ticket}` })).toMatchObject({ text: 'inside' });
    expect(wakes).toBe(1);
  });
});
