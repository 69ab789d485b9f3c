import type { IncomingMessage } from 'node:http';

/** Fields that belong to one connection and are not passed on (RFC 9110, 7.6.1), besides those that `Connection` names. */
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

/** Fields that `Connection` cannot take away: without them the other side would see another request than we did. */
const essential = new Set(['content-length', 'host']);

/** The headers of a message as they came, name and value in turn, in order and spelling, without the hop-by-hop ones. */
export const toForwardedHeaders = (message: IncomingMessage): string[] => {
  const { rawHeaders, headers } = message;
  const dropped = headers.connection === undefined ? hopByHop : withNamed(headers.connection);
  const forwarded: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (!dropped.has(name.toLowerCase())) forwarded.push(name, rawHeaders[index + 1] as string);
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
