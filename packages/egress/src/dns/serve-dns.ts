import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { readFrames, toFrame } from './frames.ts';
import { readQuery, writeAnswer } from './messages.ts';
import type { Resolver } from './resolver.ts';

/** The most connections over TCP of one sandbox. */
const MAX_CONNECTIONS = 16;
/** How long such a connection may be silent. */
const IDLE_MS = 10_000;

/** Answers the queries of one sandbox over UDP and TCP at an address. Rejects when it is taken. */
export const serveDns = async (options: {
  host: string;
  port: number;
  /** Read for each query. */
  resolver(): Resolver;
}): Promise<{ close(): void }> => {
  const { host, port } = options;
  const answer = async (message: Buffer): Promise<Buffer | undefined> => {
    const query = readQuery(message);
    return query && writeAnswer(query, await options.resolver().answer(query));
  };

  const udp = createSocket('udp4');
  udp.on('message', (message, from) => {
    void answer(message).then((reply) => {
      if (reply !== undefined && !isClosed) udp.send(reply, from.port, from.address);
    });
  });
  const connections = new Set<Socket>();
  const tcp = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => {
      // The client ends what it does not need.
    });
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    readFrames(socket, (message) => {
      socket.pause();
      void answer(message).then((reply) => {
        if (reply === undefined) socket.destroy();
        else socket.write(toFrame(reply), () => socket.resume());
      });
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
  return { close };
};
