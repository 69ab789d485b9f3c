import type { IncomingMessage } from 'node:http';

/**
 * Fields that belong to one connection and are not forwarded (RFC 9110, 7.6.1), besides those that `Connection` lists.
 */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Fields that `Connection` cannot remove: without them the server inside would parse a different request. */
const essential = new Set(['content-length', 'host']);

/**
 * The headers of a message, name and value in turn, in their order and spelling, without the hop-by-hop ones and without those of
 * `replaced`, whose names are in lower case.
 */
export const toForwardedHeaders = (message: IncomingMessage, replaced?: ReadonlySet<string>): string[] => {
  const { rawHeaders, headers } = message;
  const dropped = headers.connection === undefined ? hopByHop : withNamed(headers.connection);
  const forwarded: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    const lower = name.toLowerCase();
    if (!dropped.has(lower) && replaced?.has(lower) !== true)
      forwarded.push(name, rawHeaders[index + 1] as string);
  }
  return forwarded;
};

const withNamed = (connection: string): Set<string> => {
  const named = connection
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return new Set([...hopByHop, ...named.filter((name) => !essential.has(name))]);
};

/** Whether a body follows the head of this request. */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
