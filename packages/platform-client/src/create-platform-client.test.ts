import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createPlatformClient } from './create-platform-client.ts';

async function listen(
  status: number,
  body: string,
  seen: IncomingMessage[] = [],
  headers: Record<string, string> = {},
): Promise<string> {
  const server = createServer((request, response) => {
    seen.push(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('sends the API key and the extra headers, and encodes ids into one path segment', async () => {
  const seen: IncomingMessage[] = [];
  const baseUrl = await listen(404, '{"code":404,"message":"no such sandbox"}', seen);
  const client = createPlatformClient({ baseUrl, apiKey: 'e2b_00', headers: { 'X-Trace': 't' } });
  const { error, response } = await client.GET('/sandboxes/{sandboxID}', {
    params: { path: { sandboxID: 'a/b:c' } },
  });
  expect(seen[0]?.url).toBe('/sandboxes/a%2Fb%3Ac');
  expect(seen[0]?.headers).toMatchObject({ 'x-api-key': 'e2b_00', 'x-trace': 't' });
  expect(response.status).toBe(404);
  expect(error).toEqual({ code: 404, message: 'no such sandbox' });
});

it('asks the server to refuse unknown keys only when it is strict', async () => {
  const seen: IncomingMessage[] = [];
  const baseUrl = await listen(200, '[]', seen);
  for (const strict of [undefined, true])
    await createPlatformClient({ baseUrl, apiKey: 'e2b_00', strict }).GET('/sandboxes');
  expect(seen.map(({ headers }) => headers['x-skerry-strict'])).toEqual([undefined, 'true']);
});

it('uses another fetch', async () => {
  const urls: string[] = [];
  const client = createPlatformClient({
    baseUrl: 'http://nowhere.invalid/base/',
    apiKey: 'e2b_00',
    fetch: async (request) => {
      urls.push(request.url);
      return Response.json([]);
    },
  });
  const { data } = await client.GET('/sandboxes', { params: { query: { metadata: 'a=b' } } });
  expect(data).toEqual([]);
  expect(urls).toEqual(['http://nowhere.invalid/base/sandboxes?metadata=a%3Db']);
});

it('follows no redirect: the key stays with the service', async () => {
  const seen: IncomingMessage[] = [];
  const location = await listen(200, '[]', seen);
  const baseUrl = await listen(308, '{"code":308,"message":"moved"}', [], { location });
  const { data, error, response } = await createPlatformClient({ baseUrl, apiKey: 'e2b_00' }).GET(
    '/sandboxes',
  );
  expect([data, error]).toEqual([undefined, { code: 308, message: 'moved' }]);
  expect(response.headers.get('location')).toBe(location);
  expect(seen).toEqual([]);
});
