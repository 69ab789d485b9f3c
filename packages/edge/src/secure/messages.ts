import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import http2, { type Http2ServerResponse, type OutgoingHttpHeaders } from 'node:http2';
import { createMessages } from '@skerry/contract/http2-messages';

const base = createMessages(http2);

/** The value of `:authority` takes the place of `Host`, which must not differ from it (RFC 9113, 8.3.1). */
const toRawHeaders = (raw: readonly string[], authority: string | undefined): string[] => {
  const headers: string[] = authority === undefined ? [] : ['Host', authority];
  const cookies: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2);
    if (name === 'cookie') cookies.push(value);
    else if (!name.startsWith(':') && !(name === 'host' && value === authority)) headers.push(name, value);
  }
  // HTTP/1 has one field of them, which HTTP/2 may split (RFC 9113, 8.2.3).
  if (cookies.length > 0) headers.push('cookie', cookies.join('; '));
  return headers;
};

/**
 * A request of HTTP/2 with the headers of HTTP/1.1 that mean the same: `Host`, and `Transfer-Encoding` for a body whose length is not
 * announced. So one handler serves both.
 */
class Request extends base.Http2ServerRequest {
  /** What `CONNECT` asks for in the place of a connection (RFC 8441). */
  readonly protocol: string | undefined;

  constructor(...args: ConstructorParameters<typeof base.Http2ServerRequest>) {
    super(...args);
    const [stream, given, , raw] = args;
    this.protocol = given[':protocol'] as string | undefined;
    const headers: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(given)) if (!name.startsWith(':')) headers[name] = value;
    const authority = given[':authority'];
    if (authority !== undefined) headers.host = authority;
    const hasBody = !stream.endAfterHeaders && given[':method'] !== 'CONNECT';
    if (hasBody && given['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
    // Fields of the types, but accessors of the base class.
    Object.defineProperty(this, 'headers', { value: headers });
    Object.defineProperty(this, 'rawHeaders', { value: toRawHeaders(raw, authority) });
  }

  /** Ends the stream of a body that is not read to its end, as HTTP/1 ends the connection. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.readableEnded && !this.stream.closed) this.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    done(error);
  }
}

const hasNoLength = (headers: unknown): boolean => !(headers as OutgoingHttpHeaders)['content-length'];

class Response extends base.Http2ServerResponse {
  constructor(...args: ConstructorParameters<typeof base.Http2ServerResponse>) {
    super(...args);
    // Node ends an aborted stream too.
    const isFinished = (): boolean =>
      this.writableEnded && this.stream.writableFinished && !this.stream.aborted;
    Object.defineProperty(this, 'writableFinished', { get: isFinished });
    const { stream } = this;
    const respond = stream.respond.bind(stream);
    // Node keeps the end of each response back until trailers were asked for, and sends it in a packet of its own. HTTP/1 has trailers
    // behind chunks alone, not behind a length.
    stream.respond = (headers, options) =>
      respond(headers, { ...options, waitForTrailers: hasNoLength(headers) });
  }

  /** HTTP/2 has no status text. What could not be sent leaves nothing behind: another answer follows it. */
  override writeHead(status: number, ...rest: unknown[]): this {
    try {
      const headers = rest.find((value) => typeof value === 'object') as OutgoingHttpHeaders | undefined;
      return super.writeHead(status, headers);
    } catch (error) {
      for (const name of this.getHeaderNames()) this.removeHeader(name);
      throw error;
    }
  }

  /** Takes pairs too, as HTTP/1 does. */
  override addTrailers(trailers: OutgoingHttpHeaders | readonly [string, string][]): void {
    const pairs = Array.isArray(trailers) ? trailers : Object.entries(trailers);
    for (const [name, value] of pairs) super.addTrailers({ [name]: value });
  }
}

/** The classes of messages for the options of a server. */
export const messages = {
  Http2ServerRequest: Request,
  Http2ServerResponse: Response as unknown as typeof Http2ServerResponse,
};

export const protocolOf = (request: IncomingMessage): string | undefined =>
  request instanceof Request ? request.protocol : undefined;

/** Turns a request for a WebSocket in a stream (RFC 8441) into that of HTTP/1.1 (RFC 6455), which a server inside understands. */
export const toUpgradeRequest = (request: IncomingMessage): void => {
  const { headers, rawHeaders } = request;
  const key = randomBytes(16).toString('base64');
  request.method = 'GET';
  headers.upgrade = 'websocket';
  headers['sec-websocket-key'] = key;
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name === 'sec-websocket-key');
  if (at !== -1) rawHeaders.splice(at, 2);
  rawHeaders.push('Sec-WebSocket-Key', key);
};
