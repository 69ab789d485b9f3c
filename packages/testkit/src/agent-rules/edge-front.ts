import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { agentPort } from '@skerry/contract/directory';
import { type AgentKeys, createEdge, edgeServerOptions } from '@skerry/edge';

/** An edge of this process before one agent. */
export interface EdgeFront {
  readonly url: string;
  close(): Promise<void>;
}

class RefusedError extends Error {
  readonly code = 'refused';
}

/**
 * Puts the edge of the server before one agent, which was initialized with the same keys. `dial` connects to the agent; other ports
 * are closed.
 */
export const startEdgeFront = async ({
  sandboxId,
  agent,
  dial,
}: {
  sandboxId: string;
  agent: AgentKeys;
  dial: () => Promise<Socket>;
}): Promise<EdgeFront> => {
  const route = {
    runId: 'front',
    agent,
    ports: {},
    connect: (port: number) =>
      port === agentPort ? dial() : Promise.reject(new RefusedError(`no server listens on ${port}`)),
  };
  const edge = createEdge({
    directory: {
      find: async (id) => (id === sandboxId ? route : undefined),
      findDormant: async () => undefined,
      onEnd: () => () => undefined,
    },
    domain: 'localhost',
    log: console,
  });
  const server = createServer(edgeServerOptions, (request, response) => edge.handle(request, response));
  server.on('checkContinue', (request, response) => edge.handle(request, response));
  server.on('upgrade', (request, socket, head) => edge.upgrade(request, socket, head));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await edge.close();
      server.closeAllConnections();
      server.close();
    },
  };
};
