import type { RequestListener } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { createMessages } from '@skerry/contract/http2-messages';
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS } from './listen.ts';

/**
 * Concurrent streams of one connection. Well above what a client uses: Node counts a stream until it is torn down, and refuses the
 * next stream of a client at the limit that already considers it closed.
 */
const MAX_STREAMS = 1000;

/** The maximum size of the headers of a request. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Takes over connections that start with the preface of HTTP/2. */
export interface Http2Connections {
  serve(socket: Socket): void;
}

/** Keeps a connection as long as HTTP/1 does: without a limit while it has streams, else for `KEEP_ALIVE_MS`. */
const limitTime = (session: ServerHttp2Session): void => {
  const preface = setTimeout(() => session.destroy(), HEADERS_TIMEOUT_MS);
  session.once('remoteSettings', () => clearTimeout(preface));
  session.once('close', () => clearTimeout(preface));
  const streams = new Set<ServerHttp2Stream>();
  session.on('stream', (stream) => {
    streams.add(stream);
    stream.once('close', () => streams.delete(stream));
  });
  session.setTimeout(KEEP_ALIVE_MS, () => {
    if (streams.size === 0) session.close();
  });
};

/**
 * An HTTP/2 server for connections that the caller has accepted. Calls `listener` with messages that behave like those of
 * `node:http`. Loads `node:http2`, which costs time and memory that agents without such clients never spend.
 */
export const createHttp2Server = (listener: RequestListener): Http2Connections => {
  const http2 = process.getBuiltinModule('node:http2');
  const server = http2.createServer({
    ...createMessages(http2),
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES, enablePush: false },
  });
  server.on('request', listener as never);
  server.on('session', limitTime);
  return { serve: (socket) => void server.emit('connection', socket) };
};
