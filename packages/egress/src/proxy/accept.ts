import { createHelloReader } from '../tls/read-client-hello.ts';
import { type Connection, isAllowed, type Judge } from './connection.ts';
import type { HttpProxy } from './http-proxy.ts';
import { splice } from './splice.ts';

/** How long a client may take to say where it wants to go. */
const HELLO_TIMEOUT_MS = 10_000;

/** How long a client that was denied may leave the connection open. */
const DENIED_TIMEOUT_MS = 1_000;

const TLS_HANDSHAKE = 22;

/** A fatal alert `access_denied` (RFC 8446, 6.2), so that the client can say why. */
const ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49]);

/**
 * Reads what a connection begins with, and passes it on if a rule allows the name in it. TLS is passed on as it is, and HTTP request by
 * request. Anything else ends.
 */
export const acceptConnection = (
  connection: Connection,
  { judge, http }: { judge: Judge; http: HttpProxy },
): void => {
  const { socket } = connection;
  const reset = (): void => void socket.resetAndDestroy();
  const chunks: Buffer[] = [];
  const reader = createHelloReader();
  const timer = setTimeout(reset, HELLO_TIMEOUT_MS);
  const settle = (): void => {
    clearTimeout(timer);
    socket.off('data', take).off('end', reset).off('close', settle);
  };
  const take = (chunk: Buffer): void => {
    if (chunks.length === 0 && chunk[0] !== TLS_HANDSHAKE) {
      settle();
      socket.pause();
      socket.unshift(chunk);
      http.serve(connection);
      socket.resume();
      return;
    }
    chunks.push(chunk);
    const hello = reader.read(chunk);
    if (hello === undefined) return;
    settle();
    socket.pause();
    if (hello === 'malformed') reset();
    else if (hello.serverName === undefined) deny();
    else passOn(hello.serverName).catch(reset);
  };
  const passOn = async (name: string): Promise<void> => {
    if (await isAllowed(judge, connection, name))
      splice(socket, Buffer.concat(chunks), connection.destination);
    else if (!socket.destroyed) deny();
  };
  const deny = (): void => {
    socket.end(ACCESS_DENIED);
    // Read to the end: with unread bytes the close would reset the connection before the alert has arrived.
    socket.resume().setTimeout(DENIED_TIMEOUT_MS, () => socket.destroy());
  };
  socket.on('error', () => {
    // The listener of `close` acts on it.
  });
  socket.on('data', take).on('end', reset).on('close', settle);
};
