import type { RequestListener } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS } from './listen.ts';

/**
 * Streams of one connection. Well above what a client has at once: Node counts a stream until it has been torn down, and refuses
 * the next of a client that is at the limit and took it for free.
 */
const MAX_STREAMS = 1000;

/** The most that the headers of a request may measure. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Takes over connections that start with the preface of HTTP/2. */
export interface Http2Connections {
  serve(socket: Socket): void;
}

/** What a reader gets of a body whose client has reset the stream; HTTP/1 has the same for a closed connection. */
const toAbortError = (): Error => Object.assign(new Error('aborted'), { code: 'ECONNRESET' });

/**
 * Node's own compatibility layer takes a reset stream for a body that has ended, so that half an upload would look whole, and
 * ends what is broken off in the middle like something complete. The rest of a body that nobody wanted keeps its stream open, and
 * of one that nobody began to read it resets the stream, answer and all. These two behave as those of HTTP/1 do.
 */
const createMessages = ({ Http2ServerRequest, Http2ServerResponse }: typeof import('node:http2')) => {
  class Request extends Http2ServerRequest {
    constructor(...args: ConstructorParameters<typeof Http2ServerRequest>) {
      super(...args);
      // Nobody may be reading; who does gets the error itself.
      this.on('error', () => undefined);
      this.stream.once('aborted', () => this.destroy(toAbortError()));
    }
  }
  class Response extends Http2ServerResponse {
    override end(...args: unknown[]): this {
      // Taking away what is not there would stop one that is being dropped already.
      if (this.req.listenerCount('readable') > 0) this.req.removeAllListeners('readable');
      this.req.resume();
      return Reflect.apply(super.end, this, args);
    }
    override destroy(error: Error = new Error('the answer was broken off')): this {
      this.stream.destroy(error);
      return this;
    }
  }
  // Not there at all; the types promise it as a field, which an accessor may not replace.
  Object.defineProperty(Response.prototype, 'destroyed', {
    get(this: Response): boolean {
      return this.stream.destroyed;
    },
  });
  return { Http2ServerRequest: Request, Http2ServerResponse: Response };
};

/** Keeps a connection as long as one of HTTP/1: with streams for ever, without for `KEEP_ALIVE_MS`. */
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
 * An HTTP/2 server for connections that somebody else accepts. Calls `listener` with messages that behave like those of
 * `node:http`. Loads the module of Node, which takes time and memory that agents without such clients never spend.
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
