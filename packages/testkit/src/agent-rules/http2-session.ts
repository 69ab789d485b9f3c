import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import type { AgentConnection } from './agent.ts';

export interface Http2Request {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
}

export interface Http2Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
}

/** An HTTP/2 connection to an agent, past the edge, which speaks HTTP/1.1 to it. */
export interface Http2Session extends Disposable {
  readonly session: ClientHttp2Session;
  /** Opens a stream with the token of the agent; the caller ends it. */
  open(request: Http2Request): ClientHttp2Stream;
  send(request: Http2Request, body?: string | Uint8Array): Promise<Http2Answer>;
}

export async function openHttp2(
  { dial, accessToken }: AgentConnection,
  way: 'socket' | 'port',
): Promise<Http2Session> {
  const socket = await dial(way);
  const session = connect('http://sandbox', { createConnection: () => socket });
  const open: Http2Session['open'] = ({ method = 'GET', path, headers = {} }) =>
    session.request(
      { ':method': method, ':path': path, 'x-access-token': accessToken, ...headers },
      { endStream: false },
    );
  return {
    session,
    open,
    async send(request, body) {
      const stream = open(request);
      stream.end(body);
      const [{ ':status': status, ...headers }] = await once(stream, 'response');
      return { status, headers, body: await buffer(stream) };
    },
    [Symbol.dispose]: () => session.destroy(),
  };
}
