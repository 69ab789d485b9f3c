import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { listenAtPath } from './listen.ts';

/** A server, and the path of the unix socket by which the host reaches it. */
interface Place {
  server: Server;
  path: string;
}

export interface HostSockets {
  /** Opens them in their order: when the last one appears, the host may use all. Does nothing while they are open. */
  open(): Promise<void>;
  /**
   * Closes them and all that is connected to them, in their order: when the last one is gone, nothing leads to the host. The
   * program goes on, also with nothing else to wait for.
   */
  close(): void;
}

/**
 * The sockets that lead to the host. Half of each is outside of the sandbox, so that a kernel that writes down all it has can
 * do so only without them.
 */
export const createHostSockets = (places: readonly Place[]): HostSockets => {
  const connections = new Set<Socket>();
  for (const { server } of places) {
    server.on('connection', (socket: Socket) => {
      connections.add(socket);
      socket.once('close', () => connections.delete(socket));
    });
  }
  let isOpen = false;
  let waiting: NodeJS.Timeout | undefined;
  return {
    open: async () => {
      if (isOpen) return;
      isOpen = true;
      for (const { server, path } of places) await listenAtPath(server, path);
      clearInterval(waiting);
    },
    close: () => {
      isOpen = false;
      clearInterval(waiting);
      waiting = setInterval(() => undefined, LONG_MS);
      for (const { server } of places) server.close();
      for (const socket of connections) socket.destroy();
      for (const { path } of places) rmSync(path, { force: true });
    },
  };
};

const LONG_MS = 2 ** 30;
