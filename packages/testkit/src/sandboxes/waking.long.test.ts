// Requests to a paused sandbox, up to the number that may be held and beyond.
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { nodes, Sandbox } from '@skerry/sdk';
import { expect, it, onTestFinished } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';

/** The default of the edge for one sandbox. */
const LIMIT = 1_000;
const BEYOND = 50;

/** Python's own number of connections that may wait is 5: the kernel inside would make the others try again after seconds. */
const server = `import http.server
class Handler(http.server.BaseHTTPRequestHandler):
  def do_POST(self):
    body = self.rfile.read(int(self.headers["content-length"]))
    self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
http.server.ThreadingHTTPServer.request_queue_size = ${LIMIT + BEYOND}
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()`;

const start = async (stack: Stack, isolation: IsolationLevel): Promise<Sandbox> => {
  const sandbox = await Sandbox.create({
    ...{ ...stack.connection, isolation },
    ...{ autoResume: true, timeoutMs: 600_000 },
  });
  await sandbox.files.write('/tmp/server.py', server);
  // In the background: the stream of a command would be one of the connections that are counted.
  await sandbox.commands.run('setsid python3 /tmp/server.py > /dev/null 2>&1 < /dev/null &');
  await sandbox.commands.run('until curl -s -d x 127.0.0.1:8000; do :; done', { timeoutMs: 60_000 });
  return sandbox;
};

/** Sends requests to a paused sandbox at once. Returns the answers, and checks that they resumed it once. */
const wakeBy = async (count: number, isolation: IsolationLevel) => {
  // Tests that share a server with this one would wait.
  const stack = await startStack({ checksAnswers: false });
  onTestFinished(() => stack.down());
  const sandbox = await start(stack, isolation);
  const { host, port } = new URL(sandbox.getUrl(8000));
  const ask = async (body: string) => {
    const headers = { host, 'content-length': body.length };
    const client = request({ host: '127.0.0.1', port, method: 'POST', agent: false, headers }).end(body);
    const [answer] = (await once(client, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, text: await text(answer) };
  };
  await sandbox.pause();
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => ask(`body ${at}`)));
  const { history } = await nodes.explain(sandbox.sandboxId, stack.connection);
  expect(history.filter(({ message }) => message === 'sandbox resumed')).toHaveLength(1);
  return answers;
};

// The agent answers each within ten seconds, which takes it longer at level gvisor.
it.each([
  ['a thousand', LIMIT, 'container'],
  ['two hundred', 200, 'gvisor'],
] as const)(
  '%s requests at once resume a paused sandbox once, and all are served',
  async (_name, count, level) => {
    const answers = await wakeBy(count, level);
    expect(answers).toEqual(answers.map((_, at) => ({ status: 200, text: `body ${at}` })));
  },
);

it('requests beyond the number that may be held get 429, or are served when the sandbox runs again', async () => {
  const refused = (await wakeBy(LIMIT + BEYOND, 'container')).filter(({ status }) => status !== 200);
  for (const answer of refused)
    expect(JSON.parse(answer.text)).toMatchObject({ code: 429, connectionLimit: LIMIT });
  expect(refused.length).toBeLessThanOrEqual(BEYOND);
});
