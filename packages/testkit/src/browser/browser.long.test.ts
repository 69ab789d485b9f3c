// Servers in sandboxes as a person opens them: in Chromium, by their names, over TLS that the server speaks itself.
import { once } from 'node:events';
import { Sandbox } from '@skerry/sdk';
import type { Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { WebSocket as WebSocketClient } from 'ws';
import { type OpenBrowser, openBrowser } from './open-browser.ts';
import { type SecureDomain, serveSecureDomain } from './secure-domain.ts';
import { readSeen, servePage } from './serve-page.ts';

const PORT = 8000;

let server: SecureDomain;
let opened: OpenBrowser;
beforeAll(async () => {
  server = await serveSecureDomain('skerry.test');
  opened = await openBrowser({ authority: server.authority, domains: ['skerry.test'], ports: [server.port] });
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const start = async (options: { allowPublicTraffic?: boolean } = {}): Promise<Sandbox> => {
  const sandbox = await Sandbox.create({
    ...server.stack.connection,
    ...{ autoResume: true, timeoutMs: 600_000, ...options },
  });
  onTestFinished(() => sandbox.kill().then(() => undefined));
  await servePage(sandbox, PORT);
  return sandbox;
};

/** Opens a tab of a user of its own; `statuses` are those of the pages that it has shown. */
const openTab = async (): Promise<{ tab: Page; statuses: number[] }> => {
  const user = await opened.browser.createBrowserContext();
  onTestFinished(() => user.close());
  const tab = await user.newPage();
  const statuses: number[] = [];
  tab.on('response', (response) => {
    if (response.request().isNavigationRequest()) statuses.push(response.status());
  });
  return { tab, statuses };
};

/** Runs in the page: opens a WebSocket to its own server, which stays open as `window.kept`. Resolves with the first answer. */
const keepWebSocket = (tab: Page): Promise<string> =>
  tab.evaluate(async () => {
    const socket = new WebSocket(`wss://${location.host}/socket`);
    const keptEnd = new Promise<number>((resolve) =>
      socket.addEventListener('close', ({ code }) => resolve(code)),
    );
    Object.assign(window, { kept: socket, keptEnd });
    return new Promise<string>((resolve, reject) => {
      socket.onopen = () => socket.send('first');
      socket.onmessage = ({ data }) => resolve(String(data));
      socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
    });
  });

const sendKept = (tab: Page, text: string): Promise<string> =>
  tab.evaluate(async (sent) => {
    const { kept } = window as unknown as { kept: WebSocket };
    return new Promise<string>((resolve) => {
      kept.onmessage = ({ data }) => resolve(String(data));
      kept.send(sent);
    });
  }, text);

/** Resolves with the code with which the page's WebSocket closes within two seconds. */
const untilClosed = (tab: Page): Promise<number | string> =>
  tab.evaluate(async () => {
    const { keptEnd } = window as unknown as { keptEnd: Promise<number> };
    const open = new Promise<string>((resolve) => setTimeout(() => resolve('still open'), 2_000));
    return Promise.race([keptEnd, open]);
  });

/** Also waits over the reload of the page that is shown meanwhile. */
const untilServed = (tab: Page): Promise<unknown> =>
  tab.waitForFunction(() => document.querySelector('h1')?.textContent === 'served');

it('opens a server in a sandbox by its name over HTTP/2, and keeps a WebSocket', async () => {
  const sandbox = await start();
  const { tab, statuses } = await openTab();
  const answer = await tab.goto(sandbox.getUrl(PORT));
  expect(answer?.securityDetails()?.issuer()).toContain('skerry');
  expect(await tab.title()).toBe(`page of ${PORT}`);
  expect(await tab.evaluate(() => performance.getEntriesByType('navigation')[0]?.toJSON())).toMatchObject({
    nextHopProtocol: 'h2',
  });
  expect(await keepWebSocket(tab)).toBe('first');
  for (const text of ['second', 'third']) expect(await sendKept(tab, text)).toBe(text);
  expect(statuses).toEqual([200]);
});

it('shows a page while a paused sandbox is resumed, which opens by itself, and holds a WebSocket until then', async () => {
  const sandbox = await start();
  const { tab, statuses } = await openTab();
  await sandbox.pause();
  await tab.goto(sandbox.getUrl(PORT));
  await untilServed(tab);
  expect(statuses).toEqual([503, 200]);
  expect(await keepWebSocket(tab)).toBe('first');

  await sandbox.pause();
  expect(await keepWebSocket(tab)).toBe('first');
  expect(await sendKept(tab, 'second')).toBe('second');
  expect((await readSeen(sandbox, PORT)).map(({ path }) => path)).toContain('/socket');
});

it('closes WebSockets of a page and of a client of HTTP/1.1 when the program inside ends, and when the sandbox is paused or killed', async () => {
  const sandbox = await start();
  const { tab } = await openTab();
  await tab.goto(sandbox.getUrl(PORT));
  const endProgram = (): Promise<unknown> =>
    sandbox.commands.run(
      'for each in /proc/[0-9]*; do case $(readlink $each/exe) in */python3*) kill -9 $(basename $each);; esac; done',
    );
  for (const end of [endProgram, () => sandbox.pause(), () => sandbox.kill()]) {
    expect(await keepWebSocket(tab)).toBe('first');
    const older = new WebSocketClient(`${sandbox.getUrl(PORT).replace('https', 'wss')}/socket`);
    const olderClosed = once(older, 'close', { signal: AbortSignal.timeout(30_000) });
    older.on('error', () => undefined);
    await once(older, 'open');
    await end();
    expect(await untilClosed(tab)).toBe(1006);
    expect((await olderClosed)[0]).toBe(1006);
    if (end === endProgram) await servePage(sandbox, PORT);
  }
});

it('is refused a private port, opens it by its signed link, and is served there from then on', async () => {
  const sandbox = await start({ allowPublicTraffic: false });
  const { tab, statuses } = await openTab();
  await tab.goto(sandbox.getUrl(PORT));
  expect(await tab.evaluate(() => document.body.textContent)).toContain(
    'The ports of the sandbox are private',
  );

  await tab.goto(await sandbox.getPrivateUrl(PORT));
  expect(await tab.title()).toBe(`page of ${PORT}`);
  expect(tab.url()).toBe(`${sandbox.getUrl(PORT)}/`);
  await tab.reload();
  expect(await keepWebSocket(tab)).toBe('first');
  expect(statuses).toEqual([403, 303, 200, 200]);

  await sandbox.pause();
  await tab.reload();
  await untilServed(tab);
  expect(statuses.slice(-2)).toEqual([503, 200]);

  const stranger = await openTab();
  await stranger.tab.goto(sandbox.getUrl(PORT));
  expect(stranger.statuses).toEqual([403]);
});
