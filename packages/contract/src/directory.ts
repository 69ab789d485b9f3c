import type { Duplex, Readable } from 'node:stream';

/** The port inside a sandbox on which its agent serves files and processes. */
export const agentPort = 49_983;

/** Which sandboxes can be reached now. The platform provides it and the edge asks it. */
export interface Directory {
  /** How to reach a running sandbox. Undefined for one that is unknown, starting, paused, killed or expired. */
  find(sandboxId: string): Promise<Route | undefined>;
  /**
   * Calls `listener` once for each run as soon as `find` no longer returns it, however the run ended, so that its open
   * connections can be reset. The returned function removes the listener.
   */
  onEnd(listener: (sandboxId: string, runId: string) => void): () => void;
}

/** One run of one sandbox: from a start to the pause or end that follows. */
export interface Route {
  /** New at every start. A connection made under one run id must not be used under another. */
  readonly runId: string;
  /**
   * Opens a connection to a port inside, also one that is bound to loopback there. Rejects with an error whose `code` is
   * `refused` when nothing listens. A `reader` takes over how the connection is read, where it is a socket of this process.
   */
  connect(port: number, options?: ConnectOptions): Promise<Duplex>;
}

export interface ConnectOptions {
  signal?: AbortSignal;
  reader?: SocketReader;
}

/** How a connection is read (`onread` of `net.connect`). */
export interface SocketReader {
  /** Returns the buffer that the next read fills. */
  nextBuffer(): Uint8Array;
  /** Pushes what was read into the connection. False pauses reading until the connection is read from again. */
  receive(socket: Readable, sizeBytes: number, buffer: Uint8Array): boolean;
}
