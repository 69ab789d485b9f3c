// What pages of sandboxes and of others can do in the browser of a person, with Chromium.
import { Sandbox } from '@skerry/sdk';
import type { Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type OpenBrowser, openBrowser } from '../browser/open-browser.ts';
import { type SecureDomain, serveSecureDomain } from '../browser/secure-domain.ts';
import { readSeen, servePage } from '../browser/serve-page.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { attackFromOutside } from './attack.ts';

const PORT = 8000;
const DOMAIN = 'boxes.test';
const ATTACKER = 'attacker.test';

let server: SecureDomain;
/** A server without TLS. */
let plain: SharedStack;
let opened: OpenBrowser;
/** The sandbox whose page attacks. */
let hostile: Sandbox;
/** The sandbox that is attacked. Its ports are private. */
let victim: Sandbox;
beforeAll(async () => {
  server = await serveSecureDomain(DOMAIN);
  const options = { ...server.stack.connection, timeoutMs: 600_000 };
  [hostile, victim] = await Promise.all([
    Sandbox.create(options),
    Sandbox.create({ ...options, allowPublicTraffic: false }),
  ]);
  await Promise.all([servePage(hostile, PORT), servePage(victim, PORT)]);
  plain = await joinStack();
  opened = await openBrowser({
    ...{ authority: server.authority, domains: [DOMAIN, ATTACKER] },
    ports: [server.port, Number(new URL(plain.address.apiUrl).port)],
  });
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await plain?.leave();
});

/** Opens the page of the hostile sandbox as a person who has opened the private port of the other one by its link. */
const openHostilePage = async (): Promise<{ page: Page; own: Page }> => {
  const person = await opened.browser.createBrowserContext();
  const own = await person.newPage();
  await own.goto(await victim.getPrivateUrl(PORT));
  expect(await own.title()).toBe(`page of ${PORT}`);
  const page = await person.newPage();
  await page.goto(hostile.getUrl(PORT));
  return { page, own };
};

/** Runs in a page: resolves with the status of the answer, or `blocked` when the page may not have it. */
const send = async (url: string, options: RequestInit): Promise<number | string> =>
  fetch(url, options).then(
    ({ status }) => status,
    () => 'blocked',
  );

attackFromOutside(
  'calling the API from the page of a sandbox, with simple requests, preflights and the cookies of its user',
  'the key, which browsers add to no request, and answers that no page may read with credentials',
  async () => {
    const { apiUrl } = server.stack.address;
    const { page } = await openHostilePage();
    const count = async () => (await server.stack.api.GET('/v2/sandboxes')).data?.length;
    const before = await count();
    const body = JSON.stringify({ templateID: 'base', timeout: 60 });
    const json = { 'content-type': 'application/json' };
    const kill = `${apiUrl}/sandboxes/${victim.sandboxId}`;
    await page.evaluate(`document.cookie = 'X-API-Key=x; Domain=${DOMAIN}; Path=/; Secure'`);
    const attempts: [[string, RequestInit], number | string][] = [
      [[`${apiUrl}/v2/sandboxes`, {}], 401],
      [[`${apiUrl}/v2/sandboxes`, { credentials: 'include' }], 'blocked'],
      [[`${apiUrl}/v2/sandboxes`, { method: 'POST', body }], 401],
      [[`${apiUrl}/v2/sandboxes`, { method: 'POST', body, headers: json }], 401],
      [[`${apiUrl}/v2/sandboxes`, { method: 'POST', body, mode: 'no-cors', credentials: 'include' }], 0],
      [[kill, { method: 'DELETE' }], 401],
      [[kill, { method: 'DELETE', headers: { 'x-api-key': 'e2b_00' } }], 401],
      [[kill, { method: 'DELETE', credentials: 'include' }], 'blocked'],
    ];
    for (const [request, status] of attempts)
      expect(await page.evaluate(send, ...request), JSON.stringify(request)).toBe(status);
    expect(await count()).toBe(before);
    await page.browserContext().close();
  },
);

/** Runs in a page: sends a request of each kind that a page can make to another one, and resolves when all have ended. */
const attackPort = async (origin: string): Promise<void> => {
  const at = (kind: string): string => `${origin}/attack-${kind}`;
  const add = (name: 'img' | 'script' | 'iframe', kind: string): Promise<unknown> =>
    new Promise((resolve) => {
      const element = document.createElement(name);
      element.onload = resolve;
      element.onerror = resolve;
      element.src = at(kind);
      document.body.append(element);
    });
  const submit = (): Promise<unknown> =>
    new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.name = 'target';
      document.body.append(frame);
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: at('form'), target: 'target' });
      document.body.append(form);
      frame.onload = resolve;
      form.submit();
    });
  const openSocket = (): Promise<unknown> =>
    new Promise((resolve) => {
      const socket = new WebSocket(at('socket').replace('https', 'wss'));
      socket.onopen = resolve;
      socket.onclose = resolve;
    });
  const request = (kind: string, options: RequestInit): Promise<unknown> =>
    fetch(at(kind), { credentials: 'include', ...options }).catch(() => undefined);
  await Promise.all([
    ...[add('img', 'image'), add('script', 'script'), add('iframe', 'frame'), submit(), openSocket()],
    request('fetch', {}),
    request('no-cors', { mode: 'no-cors' }),
    request('simple-post', { method: 'POST', mode: 'no-cors', body: 'text' }),
    request('preflight', { method: 'PUT', headers: { 'x-own': '1' } }),
  ]);
};

attackFromOutside(
  'using a private port of another sandbox from a page, in the browser of a person who has opened it by its link',
  'the edge, which serves the cookie to pages of the port itself and to links that a person follows',
  async () => {
    const { page, own } = await openHostilePage();
    for (const name of ['skerry_link', '__Host-skerry_link'])
      await page.evaluate(`document.cookie = '${name}=v1.1.0; Domain=${DOMAIN}; Path=/; Secure'`);
    await page.evaluate(attackPort, victim.getUrl(PORT));
    expect((await readSeen(victim, PORT)).filter(({ path }) => path.startsWith('/attack'))).toEqual([]);
    // The cookies of the page do not lock the person out.
    expect((await own.reload())?.status()).toBe(200);
    // A page of the port itself can do what the other cannot.
    await own.evaluate(attackPort, victim.getUrl(PORT));
    expect((await readSeen(victim, PORT)).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/attack-image', '/attack-frame', '/attack-form', '/attack-socket']),
    );
    await page.browserContext().close();
  },
);

attackFromOutside(
  'learning the link of a private port from what its page tells of its address to other pages',
  'a redirect without the link, which has no referrer, before the page is shown',
  async () => {
    const { own, page } = await openHostilePage();
    expect(await own.evaluate(() => [location.href, document.referrer])).toEqual([
      `${victim.getUrl(PORT)}/`,
      '',
    ]);
    await own.evaluate(
      (to) => fetch(to, { mode: 'no-cors', referrerPolicy: 'unsafe-url' }),
      `${hostile.getUrl(PORT)}/referred`,
    );
    const [seen] = (await readSeen(hostile, PORT)).filter(({ path }) => path === '/referred');
    expect(seen?.headers.Referer ?? seen?.headers.referer).toBe(`${victim.getUrl(PORT)}/`);
    const addresses = (await readSeen(victim, PORT)).map(
      ({ path, headers }) => path + JSON.stringify(headers),
    );
    expect(addresses.filter((text) => text.includes('skerry_link'))).toEqual([]);
    await page.browserContext().close();
  },
);

attackFromOutside(
  'reading from a server on this machine by a name of the attacker that leads to it (DNS rebinding)',
  'a check of the host name of requests over loopback',
  async () => {
    const { sandboxId } = await plain.createSandbox();
    const { port } = new URL(plain.address.apiUrl);
    const page = await opened.browser.newPage();
    const paths = ['/health', '/', '/openapi.json'];
    for (const path of paths)
      expect((await page.goto(`http://${ATTACKER}:${port}${path}`))?.status(), path).toBe(400);
    const routing = { 'e2b-sandbox-id': sandboxId, 'e2b-sandbox-port': '49983' };
    for (const headers of [{}, routing, { 'x-api-key': plain.address.apiKey }])
      for (const path of paths)
        expect(await page.evaluate(send, path, { headers } as RequestInit), path).toBe(400);
    expect((await page.goto(`http://localhost:${port}/health`))?.status()).toBe(200);
    await page.close();
  },
);
