import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** A connection to a server that the test can cut. */
export interface CutLine extends AsyncDisposable {
  /** The port of 127.0.0.1. */
  readonly port: number;
  /** How many connections there were. */
  readonly connectionCount: number;
  /**
   * Resets all connections. New ones are made at once, unless the line stays down: then they are reset, or wait until it is
   * mended.
   */
  cut(options?: { staysDown: true | 'waiting' }): void;
  /** Takes connections again. */
  mend(): void;
}

/** A TCP proxy to a port of 127.0.0.1 that passes everything on as it is, until it is cut. */
export const createCutLine = async (targetPort: number): Promise<CutLine> => {
  const sockets = new Set<Socket>();
  let isDown: boolean | 'waiting' = false;
  const waiting: Socket[] = [];
  let connectionCount = 0;
  const pass = (client: Socket): void => {
    connectionCount += 1;
    const upstream = connect(targetPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    // The other side sees the end of its own connection.
    pipeline(client, upstream, client, () => undefined);
  };
  const server = createServer((client) => {
    if (isDown === 'waiting') waiting.push(client.on('error', () => undefined));
    else if (isDown) client.resetAndDestroy();
    else pass(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut: CutLine['cut'] = (options): void => {
    isDown = options?.staysDown ?? false;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    get connectionCount() {
      return connectionCount;
    },
    cut,
    mend() {
      isDown = false;
      // Some may have gone while they waited.
      for (const client of waiting.splice(0)) if (!client.destroyed) pass(client);
    },
    async [Symbol.asyncDispose]() {
      cut({ staysDown: true });
      for (const client of waiting) client.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
