import type { IncomingMessage } from 'node:http';

/**
 * Returns the name in the Host of a request. Undefined where there is not exactly one, and where the target of the request has another:
 * servers differ in which of them they take.
 */
export const readHost = ({ rawHeaders, url = '' }: IncomingMessage): string | undefined => {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host',
  );
  if (hosts.length !== 1 || !(url.startsWith('/') || url === '*')) return undefined;
  return /^([^:@/\s]+)(?::\d{1,5})?$/.exec(hosts[0] ?? '')?.[1];
};

/** Returns the headers to pass on. A message that is not sent in chunks has no trailers, and Node rejects one that announces them. */
export const toPassedHeaders = ({ rawHeaders, headers, statusCode }: IncomingMessage): string[] => {
  const isChunked =
    /\bchunked\b/i.test(headers['transfer-encoding'] ?? '') && statusCode !== 204 && statusCode !== 304;
  return isChunked
    ? rawHeaders
    : toPairs(rawHeaders)
        .filter(([name]) => !/^trailer$/i.test(name))
        .flat();
};

/** Returns the trailers to pass on: without those that could be taken for another length or host (RFC 9110, 6.5.1). */
export const toPassedTrailers = ({ rawTrailers }: IncomingMessage): [string, string][] =>
  toPairs(rawTrailers).filter(([name]) => !NOT_IN_TRAILERS.test(name));

const NOT_IN_TRAILERS =
  /^(?:connection|content-length|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

/** Writes the status line of an answer. */
export const toHead = ({ statusCode, statusMessage }: IncomingMessage): string =>
  `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;

/** Writes headers as lines. */
export const toLines = (raw: readonly string[]): string =>
  toPairs(raw)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');

const toPairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []));
