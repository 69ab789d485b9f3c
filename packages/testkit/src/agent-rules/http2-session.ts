import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { StackClient, StackSandbox } from '../stack/stack-client.ts';

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

/** An HTTP/2 connection to the agent of a real sandbox, past the edge, which speaks HTTP/1.1 to it. */
export interface Http2Session extends Disposable {
  readonly session: ClientHttp2Session;
  /** Opens a stream with the sandbox's token; the caller ends it. */
  open(request: Http2Request): ClientHttp2Stream;
  send(request: Http2Request, body?: string | Uint8Array): Promise<Http2Answer>;
}

const socketPath = (stack: StackClient, sandboxId: string, name: string): string =>
  join(stack.dataDir, 'sandboxes', sandboxId, 'disk/run', name);

/** The way of the host to a port inside: a tunnel through the agent's private socket. */
const dialPort = async (stack: StackClient, sandboxId: string, port: number): Promise<Socket> => {
  const socket = dial(socketPath(stack, sandboxId, 'control.sock'));
  socket.write(`CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString().startsWith('HTTP/1.1 200 ')) throw new Error(`the tunnel answered ${head.toString()}`);
  return socket;
};

/** Connects to the agent's own socket, or to its TCP port inside the sandbox. */
export async function openHttp2(
  stack: StackClient,
  { sandboxId, accessToken }: StackSandbox,
  way: 'socket' | 'port',
): Promise<Http2Session> {
  const socket =
    way === 'port'
      ? await dialPort(stack, sandboxId, 49_983)
      : dial(socketPath(stack, sandboxId, 'http.sock'));
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
