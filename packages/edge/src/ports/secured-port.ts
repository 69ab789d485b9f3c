import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';

/** How long a program may take to answer the first message of TLS. */
const handshakeMs = 10_000;

/**
 * Speaks TLS to a program inside over a connection. Its certificate is not verified: the connection leads into the sandbox, whatever it
 * says. Rejects when the program does not speak TLS; then the connection is closed.
 */
export const secureConnection = async (connection: Duplex, ended: AbortSignal): Promise<TLSSocket> => {
  const secured = connect({ socket: connection, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  try {
    await once(secured, 'secureConnect', {
      signal: AbortSignal.any([ended, AbortSignal.timeout(handshakeMs)]),
    });
    return secured;
  } catch (error) {
    // A failure after this one has no other reader.
    secured.on('error', () => {}).destroy();
    connection.destroy();
    throw error;
  }
};
