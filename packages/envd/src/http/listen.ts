import { renameSync, rmSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import type { ListenOptions } from 'node:net';

/** Long enough for the idle connections that clients and the edge keep open: they count on at least 620 s. */
export const KEEP_ALIVE_MS = 650_000;

/** How long the headers of a request may take. */
export const HEADERS_TIMEOUT_MS = 10_000;

/** How often Node checks for expired connections. */
const HEADERS_CHECK_MS = 5_000;

/**
 * How many connections may wait to be accepted: the edge opens one for each request that a resumed sandbox has been held for, at once,
 * and the kernel refuses those of a unix socket that find no place. Node's default is 511; net.core.somaxconn limits it.
 */
const BACKLOG = 4_096;

/** The maximum size of the headers of a request: those that the edge forwards and those that it adds. */
const MAX_HEADER_BYTES = 80 * 1024;

/**
 * Load the module here: an import reads every export of it, and some of `node:http` load the whole of undici
 * when read, which alone takes longer than everything else until the agent listens.
 */
const { createServer } = process.getBuiltinModule('node:http');

/** An HTTP server without a limit on how long a request may take: uploads and input streams may last for days. */
export const createHttpServer = (listener: RequestListener): Server => {
  const server = createServer(
    {
      requestTimeout: 0,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: HEADERS_CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    },
    listener,
  );
  server.timeout = 0;
  return server;
};

/** Resolves when the server accepts connections. */
export const listen = (server: Server, options: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ backlog: BACKLOG, ...options }, () => {
      server.off('error', reject);
      resolve();
    });
  });

/**
 * Listens on a unix socket that appears at `path` only once it accepts, replacing the one of an earlier agent. A client that
 * waits for the path to appear can connect at once.
 */
export const listenAtPath = async (server: Server, path: string): Promise<void> => {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  await listen(server, { path: temporary });
  renameSync(temporary, path);
};
