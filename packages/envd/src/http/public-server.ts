import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { createHttp2Server, type Http2Connections } from './http2-server.ts';
import { createHttpServer, HEADERS_TIMEOUT_MS } from './listen.ts';
import { recognizeProtocol } from './recognize-protocol.ts';
import { takeConnections } from './workarounds/take-connections.ts';

/**
 * Serves HTTP/1.1 and HTTP/2 without TLS on one port: a client either speaks HTTP/2 from its first byte (RFC 9113, 3.3) or it
 * does not. An offer to upgrade to it is declined, as any server may. Both speak to one listener.
 */
export const createPublicServer = (listener: RequestListener): Server => {
  const server = createHttpServer(listener);
  const serveHttp1 = takeConnections(server);
  let http2: Http2Connections | undefined;
  server.on('connection', (socket: Socket) => {
    recognizeProtocol(socket, {
      timeoutMs: HEADERS_TIMEOUT_MS,
      onHttp1: () => serveHttp1(socket),
      onHttp2: () => {
        http2 ??= createHttp2Server(listener);
        http2.serve(socket);
      },
    });
  });
  return server;
};
