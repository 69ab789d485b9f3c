import type { Duplex, Readable } from 'node:stream';

/** The port inside a sandbox on which its agent serves files and processes. */
export const agentPort = 49_983;

/** The sandboxes that can be reached now. The platform provides it and the edge queries it. */
export interface Directory {
  /** How to reach a running sandbox. Undefined for a sandbox that is unknown, starting, paused, killed or expired. */
  find(sandboxId: string): Promise<Route | undefined>;
  /** A sandbox that `find` may not return, and that requests may resume. Undefined for all others. */
  findDormant(sandboxId: string): Promise<Dormant | undefined>;
  /**
   * Calls `listener` once for each run as soon as `find` no longer returns it, however the run ended, so that its open
   * connections can be reset. The returned function removes the listener.
   */
  onEnd(listener: (sandboxId: string, runId: string) => void): () => void;
}

/** One run of one sandbox: from a start to the pause or end that follows. */
export interface Route {
  /** New at every start. Do not use a connection made under one run id for another. */
  readonly runId: string;
  /** How a request to the agent of this run is authorised. */
  readonly agent: AgentKeys;
  /** How any other port is reached. */
  readonly ports: PortAccess;
  /**
   * Opens a connection to a port inside, also to a port that is bound to loopback there. Rejects with an error whose
   * `code` is `refused` when no server listens. A `reader` replaces how the connection is read if it is a socket of
   * this process.
   */
  connect(port: number, options?: ConnectOptions): Promise<Duplex>;
}

/** A paused sandbox that a request to one of its ports resumes. */
export interface Dormant {
  /** The token that a request to its agent has to prove before it may resume the sandbox. Without one every request may. */
  readonly accessToken?: string;
  /** How its other ports are reached when it runs: a request that may not pass there does not resume it. */
  readonly ports: PortAccess;
  /**
   * Resumes it, once for all who call at the same time. Resolves when it runs. Rejects with the reason of the signal, which ends only
   * this wait, and else with an `ApiError`: `conflict` while another transition lasts, `resource_exhausted` at the concurrency limit,
   * `not_found` when it has ended, and others, with the reason, when it cannot start; then also at once until some time has passed.
   */
  wake(signal: AbortSignal): Promise<void>;
}

/** What the edge needs so that the agent need not know the token. */
export interface AgentKeys {
  /** The token of the sandbox. Without one every request is allowed. */
  readonly accessToken?: string;
  /** The one that the agent got with `/init`. */
  readonly edgeNonce: string;
}

/** The header with the traffic token of a sandbox whose ports are private, in lower case. */
export const TRAFFIC_TOKEN = 'e2b-traffic-access-token';

/** How the ports of a sandbox are reached, except that of its agent. */
export interface PortAccess {
  /** The token that they need. Without one every request is allowed. */
  readonly trafficToken?: string;
  /** The host name that programs see instead of their own, with `${PORT}` for the port. */
  readonly maskHost?: string;
  /** Ports on which programs speak TLS. */
  readonly httpsPorts?: readonly number[];
}

export interface ConnectOptions {
  signal?: AbortSignal;
  reader?: SocketReader;
}

/** How a connection is read (`onread` of `net.connect`). */
export interface SocketReader {
  /** Returns the buffer that the next read fills. */
  nextBuffer(): Uint8Array;
  /** Pushes the bytes that were read into the connection. Returns false to pause reading until the next read call. */
  receive(socket: Readable, sizeBytes: number, buffer: Uint8Array): boolean;
}
