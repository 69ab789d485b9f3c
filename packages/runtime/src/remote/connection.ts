import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { traceCalls } from './trace-calls.ts';

export interface Connection {
  /** Pending calls reject when the connection ends. */
  readonly transport: Transport;
  /**
   * Whether the other process has closed the socket. Resolves after one pass of the event loop, which reads the state of
   * the socket: a call is not sent to a process that ended before the call began.
   */
  hasEnded(): Promise<boolean>;
  close(): void;
}

/** The authority of every request; the path of the socket is not part of it. */
const baseUrl = 'http://runtime';
/** More than the longest message. A list of problems, which may be longer, is a stream of short messages. */
const maxResponseBytes = 65_536;
/** The longest delay of a Node timer: the connection is never closed because it is idle. */
const never = 2 ** 31 - 1;

/** Opens an HTTP/2 session on a connected socket, and owns the socket from then on. `onEnd` is called once. */
export async function createConnection(
  socket: Socket,
  { onEnd }: { onEnd: () => void },
): Promise<Connection> {
  let isOver = socket.destroyed;
  const lost = (): ConnectError => new ConnectError('the connection ended', Code.Unavailable);
  const sessions = new Http2SessionManager(
    baseUrl,
    { idleConnectionTimeoutMs: never },
    {
      createConnection: () => {
        if (isOver) throw lost();
        return socket;
      },
    },
  );
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    sessions.abort(lost());
    socket.destroy();
    onEnd();
  };
  // The socket ends first; the session closes some turns of the event loop later.
  socket.on('end', end).on('close', end);
  if ((await sessions.connect()) === 'error') {
    end();
    throw sessions.error();
  }
  return {
    transport: createConnectTransport({
      baseUrl,
      httpVersion: '2',
      sessionManager: sessions,
      readMaxBytes: maxResponseBytes,
      // The other side is on this host or in its network.
      acceptCompression: [],
      interceptors: [traceCalls],
    }),
    hasEnded: async () => {
      // The first turn may come before the event loop has polled; the second comes after.
      await turn();
      await turn();
      return isOver || socket.destroyed;
    },
    close: end,
  };
}
