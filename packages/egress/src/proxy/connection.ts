import type { Socket } from 'node:net';

/** Where a sandbox meant a connection to go. */
export interface Destination {
  address: string;
  port: number;
}

/** A connection that a sandbox has opened and that ended here instead. */
export interface Connection {
  readonly socket: Socket;
  readonly destination: Destination;
  /** The name that it was last allowed for, or is being checked for. */
  name: string | undefined;
}

/** What the rules of the sandbox say now. */
export interface Judge {
  /** Whether the destination of the connection belongs to this name, and a rule allows the name. */
  leadsTo(name: string, address: string): Promise<boolean>;
}

/** Checks a name for a connection. False also when the connection has ended meanwhile, as by a change of the rules. */
export const isAllowed = async (judge: Judge, connection: Connection, name: string): Promise<boolean> => {
  connection.name = name;
  return (await judge.leadsTo(name, connection.destination.address)) && !connection.socket.destroyed;
};
