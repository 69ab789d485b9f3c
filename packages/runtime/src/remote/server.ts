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
   * Stops listening, ends every connection, aborts what is under way and waits until that has cleaned up after itself.
   * The runtime stays open.
   */
  close(): Promise<void>;
}

/** How a session ends whose client closed it or was killed. */
const departures = new Set(['ECONNRESET', 'EPIPE', 'ERR_HTTP2_SESSION_ERROR']);
/** Longer than the longest path Linux takes, twice. */
const maxRequestBytes = 16_384;

/**
 * Offers a runtime to other processes of the same user, on a unix socket that only that user can open: the services of
 * `proto/` over HTTP/2. A socket that an earlier process left at the path is replaced. `addServices` adds others to the same socket.
 * `onError` hears of clients that do not speak HTTP/2, and of every failure whose cause the client is not told.
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
  // The socket is made within the call to listen, with this mask: there is no moment when others could connect.
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
      // Not the sessions: these wait for the other side to close its socket, which it need not do.
      for (const socket of sockets) socket.destroy();
      await closed;
      // Only now: closing the server removes the socket by this name.
      await short.close();
      await underWay.settled();
    },
  };
}
