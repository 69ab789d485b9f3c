import { isolationLevels } from '@skerry/contract/isolation';
import { nodes, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { CreateOptions } from '../stack/stack-client.ts';

/** Answers with the number of requests that it has had, and echoes what comes over a WebSocket's connection. */
const server = `import http.server
class Handler(http.server.BaseHTTPRequestHandler):
  count = 0
  protocol_version = "HTTP/1.1"
  def do_GET(self):
    Handler.count += 1
    if self.headers.get("upgrade"):
      self.send_response(101); self.send_header("Connection", "Upgrade"); self.send_header("Upgrade", "echo"); self.end_headers()
      self.wfile.write(self.rfile.readline()); self.close_connection = True; return
    text = str(Handler.count).encode()
    self.send_response(200); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
  def do_POST(self):
    text = self.rfile.read(int(self.headers["content-length"]))
    self.send_response(200); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
http.server.ThreadingHTTPServer.request_queue_size = 100
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()`;

describe.each(isolationLevels)('traffic at level %s', (level) => {
  let stack: SharedStack;
  beforeAll(async () => {
    stack = await joinStack({ level });
  });
  afterAll(() => stack.leave());

  const get = async (sandboxID: string) =>
    (await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data;
  const stateOf = async (id: string) => (await get(id))?.state;
  const startServer = async (options: CreateOptions = {}): Promise<Sandbox> => {
    const { sandboxId } = await stack.createSandbox({ autoResume: { enabled: true }, ...options });
    const sandbox = await Sandbox.connect(sandboxId, stack.connection);
    await sandbox.files.write('/tmp/server.py', server);
    await sandbox.commands.run('setsid python3 /tmp/server.py > /dev/null 2>&1 < /dev/null &');
    await expect.poll(async () => (await fetchByHost(`${sandbox.getUrl(8000)}/`)).text).toMatch(/^\d+$/);
    return sandbox;
  };

  it('resumes a paused sandbox once for all who ask, and is served by the process that was paused', async () => {
    const sandbox = await startServer({ timeoutSeconds: 60 });
    const { sandboxId: id } = sandbox;
    expect(await get(id)).toMatchObject({ lifecycle: { autoResume: true, onTimeout: 'kill' } });
    await sandbox.setTimeout(1_800_000);
    const before = Number((await fetchByHost(`${sandbox.getUrl(8000)}/`)).text);
    await sandbox.pause();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        fetchByHost(`${sandbox.getUrl(8000)}/`, { method: 'POST', body: `body ${index}` }),
      ),
    );
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, index) => `body ${index}`));
    expect(Number((await fetchByHost(`${sandbox.getUrl(8000)}/`)).text)).toBe(before + 1);
    const { history } = await nodes.explain(id, stack.connection);
    expect(history.filter(({ message }) => message === 'sandbox resumed')).toHaveLength(1);
    const { startedAt = '', endAt = '' } = (await get(id)) ?? {};
    expect(Date.parse(endAt) - Date.parse(startedAt)).toBe(300_000);
    await fetchByHost(`${sandbox.getUrl(8000)}/`);
    expect((await get(id))?.endAt).toBe(endAt);
  });

  it('also resumes by files and commands, with the token, and after a pause at the end of its time', async () => {
    const { sandboxId: id } = await stack.createSandbox({ autoResume: { enabled: true }, autoPause: true });
    const sandbox = await Sandbox.connect(id, stack.connection);
    expect(await get(id)).toMatchObject({ lifecycle: { autoResume: true, onTimeout: 'pause' } });
    await sandbox.files.write('/tmp/kept', 'kept');
    await sandbox.pause();
    expect(await sandbox.files.read('/tmp/kept')).toBe('kept');
    await sandbox.pause();
    expect((await sandbox.commands.run('cat /tmp/kept')).stdout).toBe('kept');
    await sandbox.setTimeout(500);
    await expect.poll(() => stateOf(id)).toBe('paused');
    expect(await sandbox.isRunning()).toBe(true);
    expect(await stateOf(id)).toBe('running');
  });

  it('shows a browser a page until the sandbox runs', async () => {
    const sandbox = await startServer();
    await sandbox.pause();
    const headers = { 'user-agent': 'Mozilla/5.0', accept: 'text/html', 'sec-fetch-mode': 'navigate' };
    const page = await fetchByHost(`${sandbox.getUrl(8000)}/`, { headers });
    expect(page).toMatchObject({ status: 503, text: expect.stringContaining('http-equiv="refresh"') });
    expect(await fetchByHost(`${sandbox.getUrl(8000)}/`, { headers })).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^\d+$/),
    });
  });

  it('does not resume what was paused without its memory, or whose creator does not want that', async () => {
    const unwanted = await Sandbox.connect((await stack.createSandbox()).sandboxId, stack.connection);
    expect(await get(unwanted.sandboxId)).toMatchObject({ lifecycle: { autoResume: false } });
    await unwanted.pause();
    const files = await Sandbox.create({ ...stack.connection, autoResume: true });
    await files.pause({ memory: false });
    for (const sandbox of [unwanted, files]) {
      const answer = await fetchByHost(`${sandbox.getUrl(8000)}/`);
      expect(answer.status).toBe(502);
      expect(JSON.parse(answer.text)).toMatchObject({ message: 'The sandbox was not found' });
      expect(await sandbox.isRunning()).toBe(false);
      expect(await stateOf(sandbox.sandboxId)).toBe('paused');
      await sandbox.kill();
    }
  });
});
