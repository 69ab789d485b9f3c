import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { listenAtPath } from '../http/listen.ts';

/** A server, and the path of the unix socket by which the host reaches it. */
interface HostSocket {
  server: Server;
  path: string;
}

/** The latest call wins, even while an earlier one runs. */
export interface HostSockets {
  /** Opens them in their order: when the last one appears, the host may use all. Does nothing while they are open. */
  open(): Promise<void>;
  /**
   * Closes them and all that is connected to them, in their order: when the last one is gone, nothing leads to the host. The
   * program goes on, also with nothing else to wait for.
   */
  close(): Promise<void>;
}

/**
 * The sockets that lead to the host. One end of each socket is on the host: gVisor's sentry cannot checkpoint while they are
 * open.
 */
export const createHostSockets = (sockets: readonly HostSocket[]): HostSockets => {
  const connections = new Set<Socket>();
  for (const { server } of sockets) {
    server.on('connection', (socket: Socket) => {
      connections.add(socket);
      socket.once('close', () => connections.delete(socket));
    });
  }
  let isWanted = false;
  let isOpen = false;
  let waiting: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const closeAll = (): void => {
    isOpen = false;
    clearInterval(waiting);
    waiting = setInterval(() => undefined, LONG_MS);
    for (const { server } of sockets) server.close();
    for (const socket of connections) socket.destroy();
    for (const { path } of sockets) rmSync(path, { force: true });
  };
  const openAll = async (): Promise<void> => {
    isOpen = true;
    try {
      for (const { server, path } of sockets) await listenAtPath(server, path);
      clearInterval(waiting);
    } catch (error) {
      closeAll();
      throw error;
    }
  };
  const want = (wanted: boolean): Promise<void> => {
    isWanted = wanted;
    const mine = turn.then(async () => {
      if (isWanted === isOpen) return;
      if (isWanted) await openAll();
      else closeAll();
    });
    // The caller receives the rejection; the next call only waits.
    turn = mine.catch(() => undefined);
    return mine;
  };
  return { open: () => want(true), close: () => want(false) };
};

const LONG_MS = 2 ** 30;
