import { Socket } from 'node:net';

/** The sockets of all connections to one database. */
export interface Sockets {
  /** A new one for `stream` of the settings of a connection. */
  open(): Socket;
  /** Resolves when the last one is closed. */
  closed(): Promise<void>;
  /** Closes all of them without a word to the database, which may not respond. */
  cut(): void;
}

/** Keeps the sockets of connections that `pg` makes, which itself waits without end for a database that does not respond. */
export const createSockets = (): Sockets => {
  const sockets = new Set<Socket>();
  return {
    open: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    closed: async () => {
      const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
      await Promise.all(Array.from(sockets, closed));
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
};
