import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';

export interface Connection {
  /** Calls under way reject when the connection ends. */
  readonly transport: Transport;
  /**
   * Whether the other side has closed the socket by now. Takes a pass of the event loop: what the kernel knows of the
   * socket is read before the answer, so that no call is sent to a process that had ended when it began.
   */
  hasEnded(): Promise<boolean>;
  close(): void;
}

/** The authority of every request; the path of the socket is not part of it. */
const baseUrl = 'http://runtime';
/** Longer than any message but a list of problems, and that is a stream of short ones. */
const maxResponseBytes = 65_536;
/** The longest delay of a Node timer: an idle connection costs nothing. */
const never = 2 ** 31 - 1;

/** One HTTP/2 session on a connected socket, which it takes over. `onEnd` is called once. */
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
  // The end of the other side comes first; the session closes some turns of the event loop later.
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
      // The other side is on this host.
      acceptCompression: [],
    }),
    hasEnded: async () => {
      // The first may come before the event loop has polled, the second does not.
      await turn();
      await turn();
      return isOver || socket.destroyed;
    },
    close: end,
  };
}
