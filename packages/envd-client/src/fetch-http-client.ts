import { ConnectError } from '@connectrpc/connect';
import type { UniversalClientFn, UniversalClientRequest } from '@connectrpc/connect/protocol';
import { codeFromHttpStatus } from '@connectrpc/connect/protocol-connect';
import { HttpError } from './http-error.ts';

interface FetchHttpClientOptions {
  fetch: typeof globalThis.fetch;
  requestBody: 'whole' | 'streamed';
}

const maxErrorBytes = 64 * 1024;

/**
 * Connect's HTTP client on top of `fetch`. A response outside of the Connect protocol, such as the 502 of a proxy in
 * front of the agent, becomes a `ConnectError` with the body's message and an `HttpError` as its cause.
 */
export function createFetchHttpClient({ fetch, requestBody }: FetchHttpClientOptions): UniversalClientFn {
  return async (request) => {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.header,
      // Code in a sandbox may answer in place of the agent, and must not choose who gets the token.
      redirect: 'manual',
      ...(request.signal ? { signal: request.signal } : {}),
      ...(await toBody(request, requestBody)),
    });
    const answer = { status: response.status, header: toDecodedHeader(response), trailer: new Headers() };
    if (response.status === 200) return { ...answer, body: readChunks(response.body) };
    const body = await readError(response);
    const location = response.headers.get('location') ?? undefined;
    if (location === undefined && isConnectErrorBody(body)) {
      return { ...answer, body: toIterable(new TextEncoder().encode(JSON.stringify(body))) };
    }
    const cause = new HttpError(response.status, body, location);
    const code = codeFromHttpStatus(response.status);
    throw new ConnectError(cause.message, code, response.headers, undefined, cause);
  };
}

/** `fetch` has already decompressed the body, but the headers still describe the compressed bytes. */
function toDecodedHeader({ headers }: Response): Headers {
  if (!headers.has('content-encoding')) return headers;
  const decoded = new Headers(headers);
  decoded.delete('content-encoding');
  decoded.delete('content-length');
  return decoded;
}

async function toBody(
  request: UniversalClientRequest,
  kind: 'whole' | 'streamed',
): Promise<RequestInit & { duplex?: 'half' }> {
  if (request.body === undefined) return {};
  if (kind === 'streamed') return { body: toReadableStream(request.body), duplex: 'half' };
  const parts: BlobPart[] = [];
  for await (const part of request.body) parts.push(part as Uint8Array<ArrayBuffer>);
  return {
    body: parts.length === 1 ? (parts[0] as Uint8Array<ArrayBuffer>) : await new Blob(parts).arrayBuffer(),
  };
}

// Not ReadableStream.from, which browsers and older Bun lack.
function toReadableStream(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

// Not the stream's own iterator, which Safari lacks. Leaving the loop early frees the connection.
async function* readChunks(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const next = await reader.read();
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await reader.cancel().catch(() => {
      // The stream had failed already; the read above has thrown its reason.
    });
  }
}

async function* toIterable(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The body as JSON, else as text, cut after 64 KiB. */
async function readError(response: Response): Promise<unknown> {
  const text = await readErrorText(response);
  try {
    return JSON.parse(text);
  } catch {
    // Proxies respond with plain text or HTML.
    return text;
  }
}

/** Reads the body of an error, cut after 64 KiB: code in the sandbox that answers in place of the agent may send no end. */
export async function readErrorText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of readChunks(response.body)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= maxErrorBytes) break;
  }
  return text;
}

// A number as `code` is the error body of plain HTTP, a string that of Connect.
function isConnectErrorBody(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string';
}
