import { Code, ConnectError, type Interceptor, type Transport } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import { createFetchHttpClient } from './fetch-http-client.ts';

interface FetchTransportOptions {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
  useBinaryFormat: boolean;
  headers: Record<string, string>;
  maxMessageBytes: number | undefined;
}

// Connect's own default, the maximum of its frame header. Callers limit streams by reading them.
const protocolMaxBytes = 0xffff_ffff;

/**
 * The Connect protocol over `fetch`, client streams included. Only a client stream has its request body streamed:
 * browsers refuse that over HTTP/1.1, and a known length avoids a chunked body everywhere else.
 */
export function createFetchTransport(options: FetchTransportOptions): Transport {
  const withBody = (requestBody: 'whole' | 'streamed'): Transport =>
    createTransport({
      httpClient: createFetchHttpClient({ fetch: options.fetch, requestBody }),
      baseUrl: options.baseUrl,
      useBinaryFormat: options.useBinaryFormat,
      interceptors: [addHeaders(options.headers)],
      acceptCompression: [],
      sendCompression: null,
      compressMinBytes: 1024,
      readMaxBytes: options.maxMessageBytes ?? protocolMaxBytes,
      writeMaxBytes: protocolMaxBytes,
    });
  const whole = withBody('whole');
  const streamed = withBody('streamed');
  return {
    unary: whole.unary,
    stream: (method, signal, timeoutMs, header, ...rest) => {
      const transport = method.methodKind === 'server_streaming' ? whole : streamed;
      if (!timeoutMs || timeoutMs < 0) return transport.stream(method, signal, timeoutMs, header, ...rest);
      const headers = new Headers(header);
      headers.set('Connect-Timeout-Ms', String(timeoutMs));
      return transport.stream(method, withDeadline(signal, timeoutMs), undefined, headers, ...rest);
    },
  };
}

/**
 * The transport's own timer keeps running when a caller abandons a stream, and would keep the process alive until
 * then; the timer of `AbortSignal.timeout` does not.
 */
function withDeadline(signal: AbortSignal | undefined, timeoutMs: number): AbortSignal {
  const expired = new AbortController();
  AbortSignal.timeout(timeoutMs).addEventListener('abort', () =>
    expired.abort(new ConnectError('the operation timed out', Code.DeadlineExceeded)),
  );
  return signal ? AbortSignal.any([signal, expired.signal]) : expired.signal;
}

/** A header of one call takes precedence over the client's own. */
function addHeaders(headers: Record<string, string>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) {
      if (!request.header.has(name)) request.header.set(name, value);
    }
    return next(request);
  };
}
