import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { openSocketPath } from '../socket-path.ts';
import { createRuntimeEndpoint, type RuntimeEndpointOptions } from './runtime-endpoint.ts';

export interface RuntimeServer {
  /**
   * Stops listening, ends every connection, aborts pending calls and waits until they have cleaned up. The runtime stays
   * open.
   */
  close(): Promise<void>;
}

/**
 * Offers a runtime to other processes of the same user: the services of `proto/` over HTTP/2, on a unix socket that only
 * this user can open. Replaces a socket that an earlier process left at the path.
 */
export async function serveRuntime(
  runtime: AddressedRuntime,
  { socketPath, ...options }: RuntimeEndpointOptions & { socketPath: string },
): Promise<RuntimeServer> {
  const endpoint = createRuntimeEndpoint(runtime, options);
  await rm(socketPath, { force: true });
  const short = await openSocketPath(socketPath);
  const listening = once(endpoint.server, 'listening');
  // `listen` creates the socket with this mask before it returns, so other users can never connect.
  const mask = process.umask(0o177);
  endpoint.server.listen(short.path);
  process.umask(mask);
  try {
    await listening;
  } catch (error) {
    await short.close();
    throw error;
  }
  return {
    close: async () => {
      await endpoint.close();
      // Only now: closing the server removes the socket by this name.
      await short.close();
    },
  };
}
