import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http2';
import type { Socket } from 'node:net';
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { createFailureInterceptor } from './failure-interceptor.ts';
import { createRuntimeService } from './runtime-service.ts';
import { openSocketPath } from './socket-path.ts';
import { toListener } from './to-listener.ts';
import { createUnderWay } from './under-way.ts';

export interface RuntimeServer {
  /**
   * Stops listening, ends every connection, aborts pending calls and waits until they have cleaned up. The runtime stays
   * open.
   */
  close(): Promise<void>;
}

/** The errors of a session whose client closed it or was killed. */
const departures = new Set(['ECONNRESET', 'EPIPE', 'ERR_HTTP2_SESSION_ERROR']);
/** Twice the size of two paths of the longest kind, 4,096 bytes. */
const maxRequestBytes = 16_384;

/**
 * Offers a runtime to other processes of the same user: the services of `proto/` over HTTP/2, on a unix socket that only
 * this user can open. Replaces a socket that an earlier process left at the path. `addServices` adds services to the same
 * socket. `onError` is called for clients that do not speak HTTP/2, and with each error whose cause is not sent to the
 * client.
 */
export async function serveRuntime(
  runtime: AddressedRuntime,
  options: {
    socketPath: string;
    onError: (error: Error) => void;
    addServices?: ((router: ConnectRouter) => void) | undefined;
  },
): Promise<RuntimeServer> {
  const { socketPath, onError, addServices } = options;
  const sockets = new Set<Socket>();
  const underWay = createUnderWay();
  const closing = new AbortController();
  const router = createConnectRouter({
    interceptors: [underWay.interceptor, createFailureInterceptor(onError)],
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
  await rm(socketPath, { force: true });
  const short = await openSocketPath(socketPath);
  const listening = once(server, 'listening');
  // `listen` creates the socket with this mask before it returns, so other users can never connect.
  const mask = process.umask(0o177);
  server.listen(short.path);
  process.umask(mask);
  try {
    await listening;
  } catch (error) {
    await short.close();
    throw error;
  }
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      closing.abort();
      // Not the sessions: closing these waits until the client closes its socket, which may never happen.
      for (const socket of sockets) socket.destroy();
      await closed;
      // Only now: closing the server removes the socket by this name.
      await short.close();
      await underWay.settled();
    },
  };
}
