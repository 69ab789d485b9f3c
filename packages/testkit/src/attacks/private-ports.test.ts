import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { attackFromOutside } from './attack.ts';

const PORT = 8000;
/** Answers with the head of the request that it has received. */
const server = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write((self.path + "\\n" + str(self.headers)).encode())
    do_POST = do_GET
    do_OPTIONS = do_GET
print("listening", flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", ${PORT}), Handler).serve_forever()`;

let stack: SharedStack;
let sandbox: Sandbox;
let other: Sandbox;
let cookie: string;
beforeAll(async () => {
  stack = await joinStack();
  const options = { ...stack.connection, allowPublicTraffic: false, timeoutMs: 600_000 };
  [sandbox, other] = await Promise.all([Sandbox.create(options), Sandbox.create(options)]);
  await sandbox.files.write('/tmp/server.py', server);
  const running = await sandbox.commands.run('exec python3 -u /tmp/server.py', { background: true });
  for await (const piece of running) if ('stdout' in piece && piece.stdout.includes('listening')) break;
  cookie = await toCookie(await sandbox.getPrivateUrl(PORT));
});
afterAll(async () => {
  await Promise.all([sandbox.kill(), other.kill()]);
  await stack.leave();
});

/** The cookie that a link is exchanged for. */
const toCookie = async (link: string): Promise<string> => {
  const { headers } = await fetchByHost(link);
  return (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
};
const url = (port = PORT, of = sandbox): string => of.getUrl(port);
const token = (of = sandbox): string => of.trafficAccessToken ?? '';
const open = (headers: Record<string, string>, more: { method?: string; path?: string } = {}) =>
  fetchByHost(`${url()}${more.path ?? '/'}`, { headers, ...(more.method && { method: more.method }) });

/** The first line of the answer to a request for another protocol. */
const upgrade = async (headers: Record<string, string>): Promise<string> => {
  const { host, port } = new URL(url());
  const lines = Object.entries({ Host: host, Connection: 'Upgrade', Upgrade: 'websocket', ...headers });
  const socket = connect({ host: '127.0.0.1', port: Number(port) });
  socket.end(`GET / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  return (await text(socket)).split('\r\n')[0] ?? '';
};

attackFromOutside(
  'reaching a private port without its traffic token, by any name and as a WebSocket',
  'the edge, which asks for the token of that sandbox before it looks for a program',
  async () => {
    const wrong = [{}, { 'e2b-traffic-access-token': token(other) }, { 'x-access-token': token(other) }];
    for (const headers of wrong) {
      expect((await open(headers)).status).toBe(403);
      expect((await open(headers, { method: 'POST' })).status).toBe(403);
      expect(await upgrade(headers)).toContain(' 403 ');
    }
    const routed = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': String(PORT) };
    expect((await fetchByHost(stack.address.apiUrl, { headers: routed })).status).toBe(403);
    expect((await fetchByHost(url(9_999))).status).toBe(403);
    expect((await open({ 'e2b-traffic-access-token': token() })).status).toBe(200);
  },
);

attackFromOutside(
  'opening a private port by the link or the cookie of another port or sandbox, or by one that was changed',
  'the signature, which holds port, sandbox and end',
  async () => {
    const toTicket = (link: string): string => new URL(link).searchParams.get('skerry_link') ?? '';
    const own = toTicket(await sandbox.getPrivateUrl(PORT));
    const tickets = [await sandbox.getPrivateUrl(8_001), await other.getPrivateUrl(PORT)].map(toTicket);
    tickets.push(own.replace('v1.', 'v1.9'), `${own.slice(0, -1)}${own.endsWith('0') ? '1' : '0'}`);
    for (const ticket of tickets) {
      expect((await open({}, { path: `/?skerry_link=${ticket}` })).status).toBe(403);
      expect((await open({ cookie: `skerry_link=${ticket}` })).status).toBe(403);
    }
    expect((await open({ cookie })).status).toBe(200);
  },
);

attackFromOutside(
  'using the cookie of a private port from a page of another sandbox',
  'the edge, which serves the cookie to pages of the port itself and to links that a person follows',
  async () => {
    const page = url(PORT, other);
    const requests: [Record<string, string>, string][] = [
      [{ origin: page }, 'POST'],
      [{ origin: page }, 'GET'],
      [{ origin: 'null' }, 'POST'],
      [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 'GET'],
      [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 'GET'],
      [
        { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
        'POST',
      ],
    ];
    for (const [headers, method] of requests)
      expect((await open({ cookie, ...headers }, { method })).status).toBe(403);
    expect(await upgrade({ Cookie: cookie, Origin: page })).toContain(' 403 ');
    expect(await upgrade({ Cookie: cookie })).toContain(' 403 ');
  },
);

attackFromOutside(
  'learning the traffic token or the link of a private port from what its program and other pages see',
  'the edge, which forwards neither, and a redirect without the link, with no referrer',
  async () => {
    const link = await sandbox.getPrivateUrl(PORT);
    const ticket = new URL(link).searchParams.get('skerry_link') ?? '-';
    const { status, headers } = await fetchByHost(link);
    expect([status, headers.location, headers['referrer-policy']]).toEqual([303, '/', 'no-referrer']);
    expect(headers['set-cookie']?.[0]).toContain('HttpOnly');
    expect(headers['set-cookie']?.[0]).not.toContain('Domain');
    const seen = [
      await open({ 'e2b-traffic-access-token': token(), 'x-access-token': token(), cookie }),
      await open({ cookie: `a=b; ${cookie}` }),
    ];
    for (const answer of seen) {
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain(token());
      expect(answer.text).not.toContain(ticket);
      expect(answer.text).not.toContain('skerry_link');
    }
    const { stdout } = await sandbox.commands.run('env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"');
    expect(stdout).not.toContain(token());
  },
);
