import { once } from 'node:events';
import { createServer, type Http2Server } from 'node:http2';
import type { Socket } from 'node:net';
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect';
import { checkRequests } from '../bounds/bounds-interceptor.ts';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { createFailureInterceptor } from './failure-interceptor.ts';
import { createRuntimeService } from './runtime-service.ts';
import { toListener } from './to-listener.ts';
import { sendDurations } from './trace-calls.ts';
import { createUnderWay } from './under-way.ts';

export interface RuntimeEndpointOptions {
  /** Called for clients that do not speak HTTP/2, and with each error whose cause is not sent to the client. */
  onError: (error: Error) => void;
  /** Adds services beside that of the runtime. */
  addServices?: ((router: ConnectRouter) => void) | undefined;
}

/** A runtime as an HTTP/2 server, which does not listen yet. */
export interface RuntimeEndpoint {
  readonly server: Http2Server;
  /** Ends every connection, aborts pending calls and waits until they have cleaned up. The runtime stays open. */
  close(): Promise<void>;
}

/** The errors of a session whose client closed it or was killed. */
const departures = new Set(['ECONNRESET', 'EPIPE', 'ERR_HTTP2_SESSION_ERROR']);
/** Twice the size of two paths of the longest kind, 4,096 bytes. */
const maxRequestBytes = 16_384;

/**
 * Makes an HTTP/2 server of a runtime, with `RuntimeService` and those of `addServices`. The caller starts the server on an address, or
 * passes connections to it.
 */
export function createRuntimeEndpoint(
  runtime: AddressedRuntime,
  { onError, addServices }: RuntimeEndpointOptions,
): RuntimeEndpoint {
  const sockets = new Set<Socket>();
  const underWay = createUnderWay();
  const closing = new AbortController();
  const router = createConnectRouter({
    interceptors: [sendDurations, underWay.interceptor, createFailureInterceptor(onError), checkRequests],
    shutdownSignal: closing.signal,
    readMaxBytes: maxRequestBytes,
    acceptCompression: [],
    grpc: false,
    grpcWeb: false,
  });
  router.service(RuntimeService, createRuntimeService(runtime, { onError }));
  addServices?.(router);
  const server = createServer(toListener(router, onError));
  server.on('sessionError', (error: NodeJS.ErrnoException) => {
    if (!departures.has(error.code ?? '')) onError(error);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return {
    server,
    close: async () => {
      const closed = server.listening ? once(server, 'close') : undefined;
      if (closed) server.close();
      closing.abort();
      // Destroy sockets rather than close sessions: a session waits until the client closes its socket, which
      // may never happen.
      for (const socket of sockets) socket.destroy();
      await closed;
      await underWay.settled();
    },
  };
}
