import type { Duplex, Readable } from 'node:stream';

/** Where a sandbox serves its files and processes. */
export const agentPort = 49_983;

/** What the edge asks about sandboxes. Whoever runs them provides it. */
export interface Directory {
  /** The way to a running sandbox; undefined when it is unknown, killed, expired or paused. */
  find(sandboxId: string): Promise<Route | undefined>;
  /**
   * Calls `listener` once for every run that ends, however it ends, so that its open connections can be reset.
   * Returns the function that stops this.
   */
  onEnd(listener: (sandboxId: string, runId: string) => void): () => void;
}

/** One run of one sandbox: from a start to the pause or end that follows. */
export interface Route {
  /** New at every start. Connections are never carried over to another run. */
  readonly runId: string;
  /**
   * Opens a connection to a port inside, also one that is bound to loopback there. Rejects with an error whose `code` is
   * `refused` when nothing listens. A `reader` takes over how the connection is read, where it can be.
   */
  connect(port: number, options?: { signal?: AbortSignal; reader?: SocketReader }): Promise<Duplex>;
}

/** How a connection is read (`onread` of `net.connect`). */
export interface SocketReader {
  /** Where the next read goes. */
  nextBuffer(): Uint8Array;
  /** Pushes what was read into the connection. False: it is not read on until somebody reads from it. */
  receive(socket: Readable, sizeBytes: number, buffer: Uint8Array): boolean;
}

/** A sandbox and a port inside it. */
export interface Target {
  readonly sandboxId: string;
  readonly port: number;
}
