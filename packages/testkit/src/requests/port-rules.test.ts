import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** Answers with its host names, on port 8443 over TLS, and on port 8000 without. */
const server = `
import http.server, ssl, subprocess, threading
subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x -keyout /tmp/k -out /tmp/c".split(), check=True, stderr=subprocess.DEVNULL)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write((self.headers["Host"] + " " + self.headers.get("X-Forwarded-Host", "")).encode())
plain = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
secured = http.server.ThreadingHTTPServer(("127.0.0.1", 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tmp/c", "/tmp/k")
secured.socket = context.wrap_socket(secured.socket, server_side=True)
threading.Thread(target=plain.serve_forever).start()
print("listening", flush=True)
secured.serve_forever()`;

it('masks the host name of programs and reaches those that speak TLS, also after a pause', async () => {
  const { data: made } = await stack.api.POST('/v2/sandboxes', {
    body: {
      templateID: 'base',
      timeout: 240,
      network: { maskRequestHost: `localhost:\${PORT}`, httpsPorts: [8443] },
    },
  });
  const sandboxID = made?.sandboxID ?? '';
  const sandbox = await Sandbox.connect(sandboxID, stack.connection);
  await sandbox.files.write('/tmp/server.py', server);
  const running = await sandbox.commands.run('exec python3 -u /tmp/server.py', { background: true });
  for await (const piece of running) if ('stdout' in piece && piece.stdout.includes('listening')) break;
  const expectServed = async () => {
    for (const port of [8000, 8443])
      expect(await fetchByHost(sandbox.getUrl(port))).toMatchObject({
        status: 200,
        text: `localhost:${port} ${new URL(sandbox.getUrl(port)).host}`,
      });
  };
  await expectServed();
  await sandbox.pause();
  await Sandbox.connect(sandboxID, stack.connection);
  await expectServed();
  const { data } = await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
  expect(data?.network).toEqual({
    allowPublicTraffic: true,
    maskRequestHost: `localhost:\${PORT}`,
    httpsPorts: [8443],
  });
  await sandbox.kill();
});

it('opens a private port by a link, and no other port and no other sandbox by it', async () => {
  const options = { ...stack.connection, allowPublicTraffic: false, timeoutMs: 240_000 };
  const [sandbox, other] = await Promise.all([Sandbox.create(options), Sandbox.create(options)]);
  await sandbox.files.write('/tmp/server.py', server);
  const running = await sandbox.commands.run('exec python3 -u /tmp/server.py', { background: true });
  for await (const piece of running) if ('stdout' in piece && piece.stdout.includes('listening')) break;
  const { headers, status } = await fetchByHost(await sandbox.getPrivateUrl(8000));
  expect([status, headers.location]).toEqual([303, '/']);
  const [cookie = ''] = (headers['set-cookie']?.[0] ?? '').split(';');
  const statusAt = async (url: string) => (await fetchByHost(url, { headers: { cookie } })).status;
  expect(await statusAt(sandbox.getUrl(8000))).toBe(200);
  expect(await statusAt(sandbox.getUrl(8443))).toBe(403);
  expect(await statusAt(other.getUrl(8000))).toBe(403);
  expect((await fetchByHost(sandbox.getUrl(8000))).status).toBe(403);
  await Promise.all([sandbox.kill(), other.kill()]);
});
