import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import http2, { type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { clientOf, noteResponse, streamOf } from '../client.ts';
import { firstHeadTimes } from '../first-head.ts';
import { edgeServerOptions, maxHeaderBytes } from '../server-options.ts';
import { messages, protocolOf, toUpgradeRequest } from './messages.ts';

/** What one connection may hold at a time, and how much of it may be wrong before it ends. */
export const http2Bounds = {
  /** More than clients open: they keep a stream for each command that runs. Node refuses those beyond. */
  streams: 1_000,
  headerPairs: 256,
  headerBytes: maxHeaderBytes,
  /** The memory of all streams together: headers, and bodies that wait. */
  memoryMib: 16,
  /** The bytes of one stream that a client may send before they are read. */
  streamWindowBytes: 256 * 1024,
  sessionWindowBytes: 4 * 1024 * 1024,
  /** Streams that a client may reset at once, and in each second from then on. */
  resetBurst: 1_000,
  resetsPerSecond: 100,
  invalidFrames: 100,
} as const;

/** Takes connections that speak HTTP/2. */
export interface Http2Connections {
  serve(socket: Socket): void;
  /** Lets each connection end when its open streams have ended; clients open later ones elsewhere. */
  drain(): void;
  /** Ends every connection at once. */
  close(): void;
}

/**
 * An HTTP/2 server for connections that the caller has accepted. Its requests, and those for a WebSocket, become events of `server`.
 */
export const createHttp2Server = (
  server: Server,
  onSession: (session: ServerHttp2Session) => void,
): Http2Connections => {
  const sessions = new Set<ServerHttp2Session>();
  const connections = http2.createServer({
    ...messages,
    settings: {
      maxConcurrentStreams: http2Bounds.streams,
      maxHeaderListSize: http2Bounds.headerBytes,
      initialWindowSize: http2Bounds.streamWindowBytes,
      enablePush: false,
      enableConnectProtocol: true,
    },
    maxHeaderListPairs: http2Bounds.headerPairs,
    maxSessionMemory: http2Bounds.memoryMib,
    maxSessionInvalidFrames: http2Bounds.invalidFrames,
    streamResetBurst: http2Bounds.resetBurst,
    streamResetRate: http2Bounds.resetsPerSecond,
    // A server inside may repeat such a field, and HTTP/1 passes that on.
    strictSingleValueFields: false,
  });
  connections.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.setLocalWindowSize(http2Bounds.sessionWindowBytes);
    limitTime(session);
    onSession(session);
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    connections.on(event, (request, response) => {
      server.emit(event, request, response);
    });
  connections.on('connect', (request: unknown, response: unknown) =>
    connect(server, request as IncomingMessage, response as ServerResponse),
  );
  return {
    serve: (socket) => void connections.emit('connection', socket),
    drain: () => {
      for (const session of sessions) session.close();
    },
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
};

/** `CONNECT` asks for a WebSocket in its stream; there is no other use for it here. */
const connect = (server: Server, request: IncomingMessage, response: ServerResponse): void => {
  const refuse = (status: number): void => {
    const stream = streamOf(request);
    const session = stream?.session;
    response.writeHead(status).end();
    // The client may leave its half open.
    stream?.close();
    // The guard of connections has not seen this request, and ends none for it. HTTP/1 ends such a connection too.
    session?.close();
  };
  const protocol = protocolOf(request);
  if (protocol !== 'websocket') {
    refuse(protocol === undefined ? 405 : 501);
    return;
  }
  // HTTP/1 takes no upgrade with a body either: the bytes of the stream would be both.
  if (request.headers['content-length'] !== undefined) {
    refuse(400);
    return;
  }
  toUpgradeRequest(request);
  noteResponse(request, response);
  if (!server.emit('upgrade', request, clientOf(request), Buffer.alloc(0))) refuse(503);
};

/** Ends a connection without a request in time, and one that is unused for as long as one of HTTP/1 may be. */
const limitTime = (session: ServerHttp2Session): void => {
  const late = setTimeout(() => session.destroy(), firstHeadTimes.headMs);
  session.once('close', () => clearTimeout(late));
  let open = 0;
  session.on('stream', (stream) => {
    clearTimeout(late);
    open += 1;
    stream.once('close', () => {
      open -= 1;
    });
  });
  session.setTimeout(edgeServerOptions.keepAliveTimeout ?? 0, () => {
    if (open === 0) session.close();
  });
};
