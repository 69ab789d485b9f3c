import type { IncomingMessage } from 'node:http';

/**
 * Fields that belong to one connection and are not forwarded (RFC 9110, 7.6.1), besides those that `Connection` lists.
 */
const hopByHop: ReadonlySet<string> = new Set([
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
export const toForwardedHeaders = (
  message: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  replaced?: ReadonlySet<string>,
): string[] => {
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

/** What almost every message says of its connection. It names no field that is not in `hopByHop`. */
const namesNone: ReadonlySet<string> = new Set(['keep-alive', 'close']);

const withNamed = (connection: string): ReadonlySet<string> => {
  if (namesNone.has(connection)) return hopByHop;
  const named = connection
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return new Set([...hopByHop, ...named.filter((name) => !essential.has(name))]);
};

/** Fields of a trailer that would change how a message is read, or who may send it (RFC 9110, 6.5.1). */
const notInTrailers: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...essential,
  'authorization',
  'content-encoding',
  'content-range',
  'content-type',
  'expect',
  'set-cookie',
]);

/** The trailers of a message that has been read to its end, as pairs of name and value. */
export const toForwardedTrailers = ({ rawTrailers }: IncomingMessage): [string, string][] => {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawTrailers.length; index += 2) {
    const [name = '', value = ''] = rawTrailers.slice(index, index + 2);
    if (!notInTrailers.has(name.toLowerCase())) pairs.push([name, value]);
  }
  return pairs;
};

/** The bytes of a head, from its first line and its headers, name and value in turn. */
export const toHead = (firstLine: string, headers: readonly string[]): string => {
  let head = `${firstLine}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${head}\r\n`;
};

/** Whether a message says that its body comes in chunks, behind which trailers may stand. */
export const isChunked = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined;

/** Whether a body follows the head of this request. */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
