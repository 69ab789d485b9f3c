import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect as connectHttp2,
} from 'node:http2';
import { connect, type NetConnectOpts } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Answer, HttpRequest } from './start-agent.ts';

/** One HTTP/2 connection without TLS, its preface sent first. */
export interface Http2Session extends Disposable {
  readonly session: ClientHttp2Session;
  /** Opens a stream and sends its headers; the caller ends it. */
  open(request: Pick<HttpRequest, 'method' | 'path' | 'headers'>): ClientHttp2Stream;
  send(
    request: Pick<HttpRequest, 'method' | 'path' | 'headers'> & { body?: Uint8Array | string },
  ): Promise<Answer>;
}

/** The answer to a stream whose body has been sent; rejects when it is reset. */
export const answerOf = async (stream: ClientHttp2Stream): Promise<Answer> => {
  const [{ ':status': status = 0, ...headers }] = await once(stream, 'response');
  const body = await buffer(stream);
  const json = headers['content-type'] === 'application/json' ? JSON.parse(body.toString()) : undefined;
  return { status, headers, body, json };
};

/** Connects to the agent by its TCP port or the path of its socket. */
export const openHttp2 = (target: NetConnectOpts, options: ClientSessionOptions = {}): Http2Session => {
  const session = connectHttp2('http://sandbox', { ...options, createConnection: () => connect(target) });
  const open: Http2Session['open'] = ({ method = 'GET', path, headers = {} }) =>
    session.request({ ':method': method, ':path': path, ...headers }, { endStream: false });
  return {
    session,
    open,
    send({ body, ...request }) {
      const stream = open(request);
      stream.end(body);
      return answerOf(stream);
    },
    [Symbol.dispose]: () => session.destroy(),
  };
};
