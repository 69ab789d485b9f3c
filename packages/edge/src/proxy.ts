import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type InformationEvent,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { EDGE_ACCESS } from '@skerry/contract/agent-access';
import { notePassed } from '@skerry/contract/passing-buffers';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import { beginSpanFor } from '@skerry/contract/tracing';
import { type CheckedRequest, notForAgent } from './agent-access.ts';
import { type Client, reset, streamOf } from './client.ts';
import { hasBody, isChunked, toForwardedHeaders, toForwardedTrailers, toHead } from './headers.ts';
import type { PortRequest } from './ports/port-access.ts';
import { maxHeaderBytes } from './server-options.ts';
import { passStream } from './stream-end.ts';
import type { Target } from './target.ts';
import { type Run, readerOf, type Waiting } from './upstream.ts';
import { largeBodyBytes, passLargeBody } from './workarounds/pass-large-body.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client's connection, or its stream. */
  readonly client: Client;
  readonly target: Target;
  /** Set for a request to the agent. */
  readonly checked?: CheckedRequest | undefined;
  /** Set for a request to any other port. */
  readonly passed?: PortRequest | undefined;
  readonly run: Run;
  /** The client, which waits for the response. */
  readonly waiting: Waiting;
  /** Whether a Connect call that declares no protocol version gets the current one. */
  readonly addsProtocolVersion: boolean;
  /** Called when there is no response from inside; the caller answers the request. */
  readonly onFailure: (error: Error) => void;
  /** Set when the client asks for another protocol: called when the server inside accepts it. */
  readonly onUpgrade?: (answer: IncomingMessage, upstream: Duplex, head: Buffer) => void;
}

/** Backpressure does not slow down a server that sends 1xx responses without end, since they have no body. */
const maxInterimAnswers = 100;

/**
 * Forwards a request to the sandbox and the response back. Each chunk is forwarded on arrival, in memory that does not
 * grow with the bodies. The body of the request is not read before there is a connection to the port. When one side
 * disconnects, the other is closed too: a partial response ends in a reset, so that a client cannot take it for a
 * complete one.
 */
export const forward = (exchange: Exchange): void => {
  const { request, response, client, target, run, checked, passed } = exchange;
  const span = beginSpanFor(request, () => ({
    name: `${checked === undefined ? 'port' : 'agent'} ${request.method}`,
    attributes: { 'server.port': target.port },
  }));
  const upstream = httpRequest({
    agent: run.agent,
    // Identifies connections in the HTTP agent; it is not resolved.
    host: 'sandbox',
    port: target.port,
    method: request.method,
    path: checked?.url ?? passed?.url ?? request.url,
    headers: toRequestHeaders(exchange, span?.traceparent),
    maxHeaderSize: maxHeaderBytes,
  });

  let settled = false;
  let answered = false;
  const fail = (error: Error): void => {
    // A client that reads slowly has not taken the end yet which the edge has put in the place of the rest.
    if (settled || client.destroyed || response.writableEnded || exchange.waiting.isCompleted) return;
    settled = true;
    span?.end(error);
    if (answered) reset(client);
    else if (isStale(upstream, request, error)) forward(exchange);
    else exchange.onFailure(error);
  };

  const passTrailers = (): void => {
    // The agent reads none.
    if (checked === undefined && isChunked(request)) upstream.addTrailers(toForwardedTrailers(request));
  };
  upstream.once('socket', () => {
    if (!hasBody(request)) {
      upstream.end();
      return;
    }
    request.on('data', notePassed).once('end', passTrailers).pipe(upstream);
    // A client may wait for the answer before it sends any of its body. The first bytes, if they are here, share a packet with the head.
    setImmediate(() => {
      if (!upstream.writableEnded && !upstream.destroyed) upstream.flushHeaders();
    });
  });
  upstream.once('continue', () => response.writeContinue());
  let interimAnswers = 0;
  upstream.on('information', (answer) => {
    interimAnswers += 1;
    if (interimAnswers > maxInterimAnswers)
      upstream.destroy(new Error('the server inside sends interim responses without end'));
    else if (answer.statusCode !== 100) passInterim(answer, exchange);
  });
  upstream.on('response', (answer) => {
    span?.end();
    answer.on('error', fail);
    if (refusesStream(answer, exchange)) {
      fail(new Error('the server inside answered without a change of the protocol'));
      upstream.destroy();
      return;
    }
    try {
      passBack(answer, exchange);
      answered = true;
      answer.once('end', () => {
        // Node emits no 'drain' for a request whose response has ended, so the rest of the body would wait forever.
        if (!upstream.writableFinished) upstream.destroy();
      });
    } catch (error) {
      // Node parses some status lines and headers that it refuses to write.
      fail(error as Error);
      upstream.destroy();
    }
  });
  upstream.on('upgrade', (answer, socket, head) => {
    span?.end();
    if (exchange.onUpgrade === undefined) {
      socket.destroy();
      fail(new Error('the server inside upgraded the connection without being asked'));
    } else exchange.onUpgrade(answer, socket, head);
  });
  upstream.on('error', fail);
  upstream.on('close', () => {
    // What the server inside did not read is read here, so that the connection can carry the next request.
    if (!hasBody(request)) return;
    request.unpipe(upstream);
    request.resume();
  });
  response.once('close', () => {
    span?.end();
    if (!response.writableFinished) upstream.destroy();
  });
};

/** Refuses success in a stream: it would tell the client that the server inside has changed the protocol. */
const refusesStream = ({ statusCode = 0 }: IncomingMessage, { request, onUpgrade }: Exchange): boolean =>
  onUpgrade !== undefined && streamOf(request) !== undefined && statusCode >= 200 && statusCode < 300;

const toRequestHeaders = (
  { request, checked, passed, onUpgrade, addsProtocolVersion }: Exchange,
  traceparent: string | undefined,
): string[] => {
  const withheld = checked ? notForAgent : passed?.withheld;
  const headers = toForwardedHeaders(request, traceparent ? new Set(withheld).add('traceparent') : withheld);
  if (traceparent !== undefined) headers.push('traceparent', traceparent);
  if (passed !== undefined) headers.push(...passed.added);
  // The log of the agent has this id.
  if (checked !== undefined) headers.push('X-Request-Id', requestIdOf(request));
  if (checked?.edgeAccess !== undefined) headers.push(EDGE_ACCESS, checked.edgeAccess);
  if (addsProtocolVersion) headers.push('Connect-Protocol-Version', '1');
  // The one coding of trailers that each connection of the edge takes.
  if (acceptsTrailers.test(String(request.headers.te))) headers.push('TE', 'trailers');
  if (onUpgrade !== undefined)
    headers.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? '');
  else if (isChunked(request)) {
    headers.push('Transfer-Encoding', 'chunked');
    if (checked === undefined) headers.push(...toTrailerField(request));
  } else if (request.headers['content-length'] === undefined && mayHaveBody.has(request.method ?? ''))
    // Without it Node sends a chunked body, which simple servers do not parse.
    headers.push('Content-Length', '0');
  return headers;
};

const acceptsTrailers = /(?:^|,)\s*trailers\s*(?:,|$)/i;

const mayHaveBody = new Set(['POST', 'PUT', 'PATCH']);

/** An idle connection that the server inside closed at the moment of its reuse: no server has received the request. */
const isStale = (upstream: ClientRequest, request: IncomingMessage, error: Error): boolean =>
  upstream.reusedSocket &&
  !hasBody(request) &&
  repeatable.has(request.method ?? '') &&
  'code' in error &&
  (error.code === 'ECONNRESET' || error.code === 'EPIPE');

/** Methods that may be retried (RFC 9110, 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

const ownId: ReadonlySet<string> = new Set([REQUEST_ID]);

/** Passes an answer of 102 to 199 on. A client of HTTP/1.0 knows none, and one whose earlier request is not answered yet misses it. */
const passInterim = (answer: InformationEvent, { request, response }: Exchange): void => {
  if (request.httpVersion === '1.0' || response.headersSent || response.socket === null) return;
  const stream = streamOf(request);
  if (stream !== undefined) {
    stream.additionalHeaders({ ...answer.headers, ':status': answer.statusCode });
    return;
  }
  const headers = toForwardedHeaders(answer);
  response.socket.write(toHead(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`, headers), 'latin1');
};

/** Whether the answer reaches the client in chunks. */
const mayCarryTrailers = (
  { method, httpVersion }: IncomingMessage,
  { statusCode }: IncomingMessage,
): boolean => httpVersion !== '1.0' && method !== 'HEAD' && statusCode !== 204 && statusCode !== 304;

/** The field in which a message announces its trailers. */
const toTrailerField = ({ headers }: IncomingMessage): string[] =>
  headers.trailer === undefined ? [] : ['Trailer', headers.trailer];

const passBack = (
  answer: IncomingMessage,
  { request, response, client, checked, waiting }: Exchange,
): void => {
  const headers = toForwardedHeaders(answer, checked && ownId);
  if (checked !== undefined) headers.push('X-Request-Id', requestIdOf(request));
  const hasTrailers = isChunked(answer) && mayCarryTrailers(request, answer);
  if (hasTrailers) headers.push(...toTrailerField(answer));
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
  const sizeBytes = largeBodyBytes(answer);
  const reader = readerOf(answer.socket);
  if (sizeBytes === undefined || reader === undefined || request.method === 'HEAD') {
    // Before the listener of `pipe`, which ends the response.
    if (hasTrailers) answer.once('end', () => response.addTrailers(toForwardedTrailers(answer)));
    answer.on('data', notePassed);
    if (checked !== undefined) waiting.onEnd = passStream(answer, response, client);
    if (waiting.onEnd === undefined) answer.pipe(response);
  } else passLargeBody(answer, response, { reader, sizeBytes });
  // Waits for one turn of the event loop: the first bytes of the body, if they are here, share a packet with the head.
  setImmediate(() => {
    if (!response.writableEnded && !response.destroyed) response.flushHeaders();
  });
};
