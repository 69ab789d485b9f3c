import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { startStack } from '../stack/stack.ts';

interface SentSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Record<string, unknown> }[];
}

/** Receives OTLP by HTTP in its JSON form, as a collector of OpenTelemetry does at port 4318. */
const startReceiver = async () => {
  const bodies: string[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/v1/traces') bodies.push(await text(request));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const spans = (): SentSpan[] =>
    bodies.flatMap((body) =>
      JSON.parse(body).resourceSpans.flatMap((resource: { scopeSpans: { spans: SentSpan[] }[] }) =>
        resource.scopeSpans.flatMap((scope) => scope.spans),
      ),
    );
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, spans };
};

const HTTP_SERVER = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.headers.get("traceparent", "none").encode())
http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()`;

it('--otlp-endpoint sends one trace of API, helper and agent below that of the caller, and one of the edge, without secrets', async () => {
  const receiver = await startReceiver();
  await using stack = await startStack({ args: ['--otlp-endpoint', receiver.endpoint] });
  const { apiKey, apiUrl } = stack.address;
  const traceId = 'ab'.repeat(16);
  const parentId = 'cd'.repeat(8);
  const traceparent = `00-${traceId}-${parentId}-01`;
  const created = await fetch(`${apiUrl}/sandboxes?secret=${apiKey}`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json', traceparent },
    body: JSON.stringify({ templateID: 'base', secure: true }),
  });
  expect(created.status).toBe(201);
  const { sandboxID, envdAccessToken } = (await created.json()) as Record<string, string>;
  const spanOf = (match: Partial<SentSpan>): SentSpan | undefined =>
    receiver
      .spans()
      .find((span) => Object.entries(match).every(([key, value]) => span[key as keyof SentSpan] === value));
  await expect
    .poll(() => receiver.spans().map(({ name }) => name), { timeout: 20_000 })
    .toEqual(
      expect.arrayContaining([
        'POST /sandboxes',
        'RuntimeService/Create',
        'RuntimeService/Create in the helper',
        'agent POST /init',
      ]),
    );
  const root = spanOf({ traceId, name: 'POST /sandboxes' });
  expect(root?.parentSpanId).toBe(parentId);
  expect(root?.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: 201 } });
  const call = spanOf({ traceId, name: 'RuntimeService/Create' });
  expect(spanOf({ traceId, name: 'RuntimeService/Create in the helper' })?.parentSpanId).toBe(call?.spanId);
  expect(spanOf({ traceId, name: 'agent POST /init' })).toBeDefined();

  const { address, connection } = stack;
  const { Sandbox } = await import('@skerry/sdk');
  const sandbox = await Sandbox.connect(sandboxID ?? '', connection);
  await sandbox.commands.run(`python3 -c '${HTTP_SERVER}'`, { background: true, timeoutMs: 0 });
  const get = () => fetchByHost(`http://8000-${sandboxID}.${address.domain}/`, { headers: { traceparent } });
  await expect.poll(async () => (await get()).status, { timeout: 20_000 }).toBe(200);
  const [, seenTrace = '', seenParent = ''] = (await get()).text.split('-');
  // Visitors have shown no key.
  expect(seenTrace).not.toBe(traceId);
  await expect
    .poll(() => spanOf({ traceId: seenTrace, spanId: seenParent })?.name, { timeout: 10_000 })
    .toBe('port GET');
  const edgeId = spanOf({ spanId: seenParent })?.parentSpanId ?? '';
  await expect
    .poll(() => spanOf({ traceId: seenTrace, spanId: edgeId })?.name, { timeout: 10_000 })
    .toBe('GET port');
  expect(spanOf({ spanId: edgeId })?.parentSpanId ?? '').toBe('');
  await expect.poll(() => spanOf({ name: 'agent POST' }), { timeout: 10_000 }).toBeDefined();
  await sandbox.kill();
  await stack.stop();
  const all = receiver.bodies.join('');
  expect(all).toContain(sandboxID);
  for (const secret of [apiKey, envdAccessToken]) {
    expect(secret?.length).toBeGreaterThan(20);
    expect(all).not.toContain(secret);
  }
});
