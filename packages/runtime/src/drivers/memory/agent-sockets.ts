import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { GuestSockets } from '../guest-socket.ts';

/** The two servers of an agent that lives in this process. */
export interface AgentSockets {
  /** Ends every connection, at once also for the other side. */
  interrupt(): void;
  /** Stops listening, and removes the sockets. */
  close(): Promise<void>;
}

/**
 * Listens where the agent of a sandbox does. No program runs inside, so a tunnel to any port is refused. Rejects with
 * the error of the system when it cannot listen.
 */
export const openAgentSockets = async (
  sockets: GuestSockets,
  listeners: { http: RequestListener; control: RequestListener },
): Promise<AgentSockets> => {
  const http = createServer(listeners.http);
  const control = createServer(listeners.control);
  control.on('connect', (_request, socket) => void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  const servers: [Server, string][] = [
    [http, sockets.http],
    [control, sockets.control],
  ];
  for (const [server, path] of servers) await once(server.listen(path), 'listening');
  const interrupt = (): void => {
    for (const [server] of servers) server.closeAllConnections();
  };
  return {
    interrupt,
    close: async () => {
      for (const [server] of servers) server.close();
      interrupt();
      await Promise.all(servers.map(([, path]) => rm(path, { force: true })));
    },
  };
};
