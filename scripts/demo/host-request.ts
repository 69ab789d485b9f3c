import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * A request to a `*.localhost` URL. Browsers and curl resolve every such name to this machine (RFC 6761, 6.3);
 * Node asks the resolver, which may not, so this connects to the address and keeps the name in the Host header.
 */
export async function requestHost(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const outgoing = request(url, {
    method: options.method ?? 'GET',
    headers: options.headers ?? {},
    lookup: (_name, { all }, done) =>
      all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
  });
  outgoing.on('error', reject);
  outgoing.on('response', (response) => {
    text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
  });
  outgoing.end(options.body);
  return promise;
}
