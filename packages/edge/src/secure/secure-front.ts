import type { Server } from 'node:http';
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { createQuietLog } from '@skerry/contract/quiet-log';
import { noteCarrier } from '../client.ts';
import { firstHeadTimes } from '../first-head.ts';
import { edgeServerOptions } from '../server-options.ts';
import { createHttp2Server } from './http2-server.ts';

/** A certificate with those that lead to its authority, and its key, as PEM. */
export interface ServerCertificate {
  cert: string | Buffer;
  key: string | Buffer;
}

/** Accepts connections with TLS for a server that speaks HTTP. */
export interface SecureFront {
  /** The caller lets this server listen. Its event `connection` comes before TLS begins. */
  readonly listener: TcpServer;
  /** New connections get that certificate; those that are open go on. Throws, and keeps the old one, when it is not usable. */
  setCertificate(certificate: ServerCertificate): void;
  /** Lets each connection of HTTP/2 end when its open streams have ended; clients open later ones elsewhere. */
  drain(): void;
  /** Ends every connection. */
  close(): void;
}

/** Two connections that are open have different ends. */
const toEnds = (socket: Socket): string =>
  [socket.localAddress, socket.localPort, socket.remoteAddress, socket.remotePort].join(' ');

/**
 * Speaks TLS, and HTTP/2 or HTTP/1.1 as the client chooses (ALPN). The requests of both are events of `server`, which was made with
 * `edgeServerOptions` and does not listen itself.
 */
export const createSecureFront = ({
  server,
  certificate,
  log,
}: {
  server: Server;
  certificate: ServerCertificate;
  log: { warn(message: string, fields?: Record<string, unknown>): void };
}): SecureFront => {
  const quietLog = createQuietLog({ warn: (message, fields) => log.warn(message, fields) });
  const open = new Map<string, Socket>();
  const http2 = createHttp2Server(server, (session) => {
    const carrier = open.get(toEnds(session.socket));
    if (carrier !== undefined) noteCarrier(session, carrier);
  });
  const tls = createTlsServer({
    ...certificate,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: firstHeadTimes.headMs,
    minVersion: 'TLSv1.2',
  });
  tls.on('secureConnection', (socket: TLSSocket) => {
    // Another listener answers it; without one it would end this process.
    socket.on('error', () => undefined);
    const carrier = open.get(toEnds(socket));
    if (carrier !== undefined) noteCarrier(socket, carrier);
    if (socket.alpnProtocol === 'h2') http2.serve(socket);
    else server.emit('connection', socket);
  });
  tls.on('tlsClientError', (error: NodeJS.ErrnoException, socket) =>
    quietLog('a connection failed before TLS was agreed', { address: socket.remoteAddress, error }),
  );
  const { keepAlive = true, keepAliveInitialDelay = 0 } = edgeServerOptions;
  const listener = createTcpServer({ keepAlive, keepAliveInitialDelay, noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    const ends = toEnds(socket);
    open.set(ends, socket);
    socket.once('close', () => {
      // The ends may belong to the next connection by now.
      if (open.get(ends) === socket) open.delete(ends);
    });
    tls.emit('connection', socket);
  });
  return {
    listener,
    setCertificate: (next) => tls.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
    drain: () => http2.drain(),
    close: () => {
      http2.close();
      for (const socket of open.values()) socket.destroy();
    },
  };
};
