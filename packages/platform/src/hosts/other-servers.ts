import type { Duplex } from 'node:stream';
import type { ConnectOptions } from '@skerry/contract/directory';

/** One run of a sandbox on a node. */
export interface RunOnNode {
  instance: string;
  runId: string;
}

/** Opens a stream to the agent of a run. Rejects as `Instance.connect` does, and with `unavailable` when the run has ended. */
export type OpenDoor = (run: RunOnNode, port: number, options?: ConnectOptions) => Promise<Duplex>;

/** The other servers of the same database. */
export interface OtherServers {
  /** The address of the server that acts for what is on a node; undefined: it is this one. Rejects with `unavailable` when there is none now. */
  serverOf(node: string | null): Promise<string | undefined>;
  /** The address of the server that builds templates, in the same way. */
  builder(): Promise<string | undefined>;
  /** Streams to sandboxes on a node for which this server does not act, or not yet; undefined for the others. */
  openDoor(node: string): OpenDoor | undefined;
}

/** The `OtherServers` of a server that shares its database with no other one. */
export const NO_SERVERS: OtherServers = {
  serverOf: async () => undefined,
  builder: async () => undefined,
  openDoor: () => undefined,
};
