import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { agentPort } from '@skerry/contract/directory';
import { notePassed } from '@skerry/contract/passing-buffers';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import { hasBody, toForwardedHeaders } from './headers.ts';
import { maxHeaderBytes } from './server-options.ts';
import type { Target } from './target.ts';
import { type Run, readerOf, reset } from './upstream.ts';
import { largeBodyBytes, passLargeBody } from './workarounds/pass-large-body.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client's connection. */
  readonly client: Socket;
  readonly target: Target;
  readonly run: Run;
  /** Whether a Connect call that names no version of the protocol gets that of today. */
  readonly addsProtocolVersion: boolean;
  /** Called when no answer could be had from inside; the caller answers. */
  readonly onFailure: (error: Error) => void;
  /** Set when the client asks for another protocol: called when the server inside agrees. */
  readonly onUpgrade?: (answer: IncomingMessage, upstream: Duplex, head: Buffer) => void;
}

/** Nothing slows down a server that sends 1xx answers for ever, since they carry no body to hold back. */
const maxInterimAnswers = 100;

/**
 * Passes a request to the sandbox and the answer back, each part at the moment it arrives, in memory that does not grow
 * with the bodies. The body of the request is not touched before there is a connection to the port. A side that goes away
 * takes the other with it: half an answer ends in a reset, so that nobody takes it for a whole one.
 */
export const forward = (exchange: Exchange): void => {
  const { request, response, client, target, run } = exchange;
  const upstream = httpRequest({
    agent: run.agent,
    // Distinguishes connections in the agent; nothing resolves it.
    host: 'sandbox',
    port: target.port,
    method: request.method,
    path: request.url,
    headers: toRequestHeaders(exchange),
    maxHeaderSize: maxHeaderBytes,
  });

  let settled = false;
  let answered = false;
  const fail = (error: Error): void => {
    if (settled || client.destroyed || response.writableEnded) return;
    settled = true;
    if (answered) reset(client);
    else if (isStale(upstream, request, error)) forward(exchange);
    else exchange.onFailure(error);
  };

  upstream.once('socket', () => {
    if (hasBody(request)) request.on('data', notePassed).pipe(upstream);
    else upstream.end();
  });
  upstream.once('continue', () => response.writeContinue());
  let interimAnswers = 0;
  upstream.on('information', () => {
    interimAnswers += 1;
    if (interimAnswers > maxInterimAnswers)
      upstream.destroy(new Error('the server inside sends interim answers without end'));
  });
  upstream.on('response', (answer) => {
    answer.on('error', fail);
    try {
      passBack(answer, exchange);
      answered = true;
      answer.once('end', () => {
        // Node tells a request whose answer has ended no more when it may write on, so the rest of the body would wait for ever.
        if (!upstream.writableFinished) upstream.destroy();
      });
    } catch (error) {
      // Node parses some status lines and headers that it will not write.
      fail(error as Error);
      upstream.destroy();
    }
  });
  upstream.on('upgrade', (answer, socket, head) => {
    if (exchange.onUpgrade === undefined) {
      socket.destroy();
      fail(new Error('the server inside changed the protocol unasked'));
    } else exchange.onUpgrade(answer, socket, head);
  });
  upstream.on('error', fail);
  upstream.on('close', () => {
    // What the server inside did not want to read is read here, so that the connection can carry the next request.
    if (!hasBody(request)) return;
    request.unpipe(upstream);
    request.resume();
  });
  response.once('close', () => {
    if (!response.writableFinished) upstream.destroy();
  });
};

const toRequestHeaders = ({ request, target, onUpgrade, addsProtocolVersion }: Exchange): string[] => {
  const headers = toForwardedHeaders(request);
  // For the log of the agent. What another server inside gets is what the client sent.
  if (target.port === agentPort) setRequestId(headers, requestIdOf(request));
  if (addsProtocolVersion) headers.push('Connect-Protocol-Version', '1');
  if (onUpgrade !== undefined)
    headers.push('Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? '');
  else if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (request.headers['content-length'] === undefined && mayHaveBody.has(request.method ?? ''))
    // Without it Node announces a chunked body, which simple servers do not read.
    headers.push('Content-Length', '0');
  return headers;
};

/** Changes the list, names and values in turn, so that it has the header once. */
const setRequestId = (headers: string[], id: string): void => {
  for (let index = headers.length - 2; index >= 0; index -= 2)
    if (headers[index]?.toLowerCase() === REQUEST_ID) headers.splice(index, 2);
  headers.push('X-Request-Id', id);
};

const mayHaveBody = new Set(['POST', 'PUT', 'PATCH']);

/** A kept connection that the server inside closed at the moment it was used again: the request did not reach anybody. */
const isStale = (upstream: ClientRequest, request: IncomingMessage, error: Error): boolean =>
  upstream.reusedSocket &&
  !hasBody(request) &&
  repeatable.has(request.method ?? '') &&
  'code' in error &&
  (error.code === 'ECONNRESET' || error.code === 'EPIPE');

/** Methods that may be sent again (RFC 9110, 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

const passBack = (answer: IncomingMessage, { request, response, target }: Exchange): void => {
  const headers = toForwardedHeaders(answer);
  if (target.port === agentPort) setRequestId(headers, requestIdOf(request));
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
  const sizeBytes = largeBodyBytes(answer);
  const reader = readerOf(answer.socket);
  if (sizeBytes === undefined || reader === undefined || request.method === 'HEAD')
    answer.on('data', notePassed).pipe(response);
  else passLargeBody(answer, response, { reader, sizeBytes });
  // A head whose body takes its time goes out now; one that came together with its body shares a packet with it.
  setImmediate(() => {
    if (!response.writableEnded && !response.destroyed) response.flushHeaders();
  });
};
