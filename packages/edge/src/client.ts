import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** What carries one exchange: the connection of a client, or one of its streams of HTTP/2. */
export type Client = Socket | ServerHttp2Stream;

/** The stream of a request of HTTP/2. */
export const streamOf = (request: IncomingMessage): ServerHttp2Stream | undefined =>
  'stream' in request ? (request as unknown as Http2ServerRequest).stream : undefined;

export const clientOf = (request: IncomingMessage): Client => streamOf(request) ?? request.socket;

const carriers = new WeakMap<object, Socket>();

/** Records the TCP connection below TLS, or below a session of HTTP/2. */
export const noteCarrier = (carried: Socket | ServerHttp2Session, carrier: Socket): void =>
  void carriers.set(carried, carrier);

/** The TCP connection by which a request has come. */
export const connectionOf = (request: IncomingMessage): Socket =>
  carriers.get(streamOf(request)?.session ?? request.socket) ?? request.socket;

const responses = new WeakMap<IncomingMessage, ServerResponse>();

/** Records the response to a request that asks for another protocol. */
export const noteResponse = (request: IncomingMessage, response: ServerResponse): void =>
  void responses.set(request, response);

export const answerOf = (request: IncomingMessage): ServerResponse | undefined => responses.get(request);

/** Ends a connection with a TCP reset, or a stream with its own, so that the other side cannot mistake it for a proper end. */
export const reset = (client: Client): void => {
  if ('rstCode' in client) {
    // `close` ends the body first, and a pipeline that hears of it destroys the stream before the reset is sent.
    client.destroy(new Error('the server has broken off its response'));
    return;
  }
  const socket = carriers.get(client) ?? client;
  // Only TCP has a reset; `resetAndDestroy` throws on other sockets.
  if (socket.remoteFamily === undefined || socket.destroyed) client.destroy();
  else socket.resetAndDestroy();
};
