import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Programs that bind "localhost" may have bound either family. */
const HOSTS = ['127.0.0.1', '::1'];

const dial = (host: string, port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });

const dialLoopback = async (port: number): Promise<Socket | undefined> => {
  for (const host of HOSTS) {
    try {
      return await dial(host, port);
    } catch {
      // Refused here; the other family may have a listener.
    }
  }
  return undefined;
};

const parsePort = (authority: string | undefined): number | undefined => {
  const port = Number(/^localhost:(\d{1,5})$/.exec(authority ?? '')?.[1]);
  return port >= 1 && port <= 65_535 ? port : undefined;
};

const refuse = (socket: Duplex, status: string): void => {
  socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
};

/** A pause waits for two seconds. */
const LOOK_MS = 200;

/**
 * Destroys a unix socket that the other side has closed, and not only ended: no event tells the two apart, but a write
 * fails. Call it when the other side has ended; no more is sent to it.
 */
const destroyWhenClosed = (socket: Duplex): void => {
  const looking = setInterval(() => {
    if (socket.writableLength === 0 && !socket.writableEnded) socket.write(Buffer.alloc(0));
  }, LOOK_MS);
  socket.once('close', () => clearInterval(looking));
};

/**
 * Answers `CONNECT localhost:PORT` by joining the two sockets: the host reaches any port inside this way, on loopback
 * too. Answers 502 when no program listens there. The end or failure of one side is passed to the other. Once the host has closed its
 * side, the tunnel ends, also when the program never does.
 */
export const tunnel = async (req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
  socket.on('error', () => socket.destroy());
  const port = parsePort(req.url);
  if (port === undefined) return refuse(socket, '400 Bad Request');
  const upstream = await dialLoopback(port);
  if (upstream === undefined) return refuse(socket, '502 Bad Gateway');
  if (socket.destroyed) {
    upstream.destroy();
    return;
  }
  upstream.on('error', () => socket.destroy());
  // After a clean end the other side may still have bytes to flush, so it is ended and not cut.
  upstream.once('close', (hadError) => (hadError ? socket.destroy() : socket.end()));
  socket.once('close', () => upstream.destroySoon());
  socket.once('end', () => destroyWhenClosed(socket));
  socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) upstream.write(head);
  upstream.pipe(socket).pipe(upstream);
};
