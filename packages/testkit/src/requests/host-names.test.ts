import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

let stack: SharedStack;
let sandbox: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  const { sandboxId } = await stack.createSandbox({ timeoutSeconds: 240 });
  sandbox = await Sandbox.connect(sandboxId, stack.connection);
});
afterAll(() => stack.leave());

const serve = async (program: string, port: number): Promise<void> => {
  const name = `/tmp/server-${port}.py`;
  await sandbox.files.write(name, program);
  const server = await sandbox.commands.run(`exec python3 -u ${name} ${port}`, { background: true });
  for await (const piece of server) if ('stdout' in piece && piece.stdout.includes('listening')) return;
  throw new Error(`the server ended: ${server.stderr}`);
};

describe('a port of a sandbox', () => {
  it('that is bound to 127.0.0.1 inside is served at its host name', async () => {
    await sandbox.files.write('/tmp/site/index.html', 'hello from inside');
    await serve(
      `import sys, http.server, functools
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="/tmp/site")
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler)
print("listening")
server.serve_forever()`,
      3000,
    );
    const answer = await fetchByHost(sandbox.getUrl(3000));
    expect(answer).toMatchObject({ status: 200, text: 'hello from inside' });
    expect((await fetchByHost(`${sandbox.getUrl(3000)}/missing`)).status).toBe(404);
    const shared = await fetch(stack.address.sandboxUrl, {
      headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '3000' },
    });
    expect(await shared.text()).toBe('hello from inside');
  });

  it('that is bound to ::1 inside is served too', async () => {
    await serve(
      `import sys, socket, http.server
class Server(http.server.HTTPServer):
    address_family = socket.AF_INET6
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.headers["Host"].encode())
server = Server(("::1", int(sys.argv[1])), Handler)
print("listening")
server.serve_forever()`,
      3001,
    );
    expect((await fetchByHost(sandbox.getUrl(3001))).text).toBe(sandbox.getHost(3001));
  });

  it('where nothing listens answers 502 and says so', async () => {
    const { sandboxId } = sandbox;
    const answer = await fetchByHost(sandbox.getUrl(3999));
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: sandboxId,
      sandboxId,
      message: 'The sandbox is running but port is not open',
      port: 3999,
      code: 502,
    });
  });

  it('carries a WebSocket', async () => {
    await serve(readFileSync(new URL('./websocket-echo.py', import.meta.url), 'utf8'), 3002);
    const { port } = new URL(stack.address.apiUrl);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host: sandbox.getHost(3002) } });
    await once(socket, 'open');
    for (const text of ['one', 'two', 'ü'.repeat(40)]) {
      const answer = once(socket, 'message');
      socket.send(text);
      expect(String(((await answer) as [Buffer])[0])).toBe(text);
    }
    socket.close();
    await once(socket, 'close');
  });

  it('delivers each event while the server inside is still sending', async () => {
    await serve(
      `import os, sys, http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for index in range(3):
            self.wfile.write(f"data: {time.time()}\\n\\n".encode())
            self.wfile.flush()
            while not os.path.exists(f"/tmp/arrived-{index}"): time.sleep(0.02)
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("listening")
server.serve_forever()`,
      3003,
    );
    const answer = await fetch(stack.address.sandboxUrl, {
      headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '3003' },
    });
    let arrivals = 0;
    for await (const chunk of answer.body ?? []) {
      expect(String(Buffer.from(chunk))).toMatch(/^data: [\d.]+\n\n$/);
      await sandbox.files.write(`/tmp/arrived-${arrivals}`, '');
      arrivals += 1;
    }
    expect(arrivals).toBe(3);
  });

  it('does not let a client reach the internal routes of the agent', async () => {
    for (const path of ['/init', '/x/../init', '/%69nit', '/freeze']) {
      const answer = await fetchByHost(sandbox.getUrl(49_983) + path, { method: 'POST', body: '{}' });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text)).toMatchObject({ code: 404 });
    }
  });
});

describe('a signed URL', () => {
  it('uploads and downloads without a token, as long as it is unchanged and not expired', async () => {
    const path = '/home/user/späße & more.bin';
    const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256));
    const upload = await fetchByHost(await sandbox.uploadUrl(path), {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: bytes,
    });
    expect(upload.status).toBe(200);
    expect(JSON.parse(upload.text)).toEqual([{ path, name: 'späße & more.bin', type: 'file' }]);

    const url = await sandbox.downloadUrl(path, { expiresInMs: 60_000 });
    const download = await fetchByHost(url);
    expect(download.status).toBe(200);
    expect(download.headers['content-type']).toBe('application/octet-stream');
    expect(download.body.equals(bytes)).toBe(true);

    const changed = new URL(url);
    changed.searchParams.set('path', '/etc/passwd');
    expect(await fetchByHost(changed.href)).toMatchObject({ status: 401 });
    const late = await fetchByHost(await sandbox.downloadUrl(path, { expiresInMs: -5000 }));
    expect(late).toMatchObject({
      status: 401,
      text: '{"code":401,"message":"signature is already expired"}',
    });
  });
});
