import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { readFrames, toFrame } from './frames.ts';
import { MAX_QUERY_BYTES, readQuery, writeAnswer } from './messages.ts';
import { createQueryLimit } from './query-limit.ts';
import type { Resolver } from './resolver.ts';

/** The most connections over TCP of one sandbox. */
const MAX_CONNECTIONS = 16;
/** How long such a connection may be silent. */
const IDLE_MS = 10_000;

/** Answers the queries of one sandbox over UDP and TCP at an address. Rejects when it is taken. */
export const serveDns = async (options: {
  host: string;
  port: number;
  /** The address of the sandbox. Nothing else is answered. */
  guest: string;
  /** Read for each query. */
  resolver(): Resolver;
}): Promise<{ close(): void }> => {
  const { host, port, guest } = options;
  const limit = createQueryLimit();
  /** Undefined for what is not answered: no query, one too many, or one whose answer fails. Never rejects. */
  const answer = async (message: Buffer): Promise<Buffer | undefined> => {
    if (!limit.begin()) return undefined;
    try {
      const query = readQuery(message);
      return query && writeAnswer(query, await options.resolver().answer(query));
    } catch {
      // A client asks again.
      return undefined;
    } finally {
      limit.end();
    }
  };

  const udp = createSocket('udp4');
  udp.on('message', (message, from) => {
    // Nothing can be sent to port 0, which a forged datagram can have.
    if (from.address !== guest || from.port === 0) return;
    answer(message)
      .then((reply) => {
        if (reply !== undefined && !isClosed) udp.send(reply, from.port, from.address);
      })
      // A client asks again.
      .catch(() => undefined);
  });
  const connections = new Set<Socket>();
  const tcp = createServer((socket) => {
    if (socket.remoteAddress !== guest) {
      socket.resetAndDestroy();
      return;
    }
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => {
      // The client ends what it does not need.
    });
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    readFrames(socket, { maxBytes: MAX_QUERY_BYTES }, (message) => {
      socket.pause();
      answer(message)
        .then((reply) => {
          if (reply === undefined) socket.destroy();
          else socket.write(toFrame(reply), () => socket.resume());
        })
        .catch(() => socket.destroy());
    });
  });
  tcp.maxConnections = MAX_CONNECTIONS;
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    udp.close();
    tcp.close();
    for (const socket of connections) socket.destroy();
  };
  udp.bind(port, host);
  try {
    await once(udp, 'listening');
    tcp.listen(port, host);
    await once(tcp, 'listening');
  } catch (error) {
    close();
    throw error;
  }
  // A send to a client that is gone reports it here.
  udp.on('error', () => undefined);
  // A connection that cannot be accepted is not answered.
  tcp.on('error', () => undefined);
  return { close };
};
