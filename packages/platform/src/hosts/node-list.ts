import type { StorageMachine } from '../storage/storage-machines.ts';
import type { NodeLoad, NodeRow } from '../store/nodes/node-rows.ts';

/** A node as callers see it. */
export interface NodeView extends NodeRow {
  state: 'ready' | 'settling' | 'unreachable' | 'lost' | 'unlisted';
  /** Why it cannot be reached. */
  problem: string | undefined;
  version: string | undefined;
  room: { sandboxes: number; memoryMb: number } | undefined;
  load: Omit<NodeLoad, 'name'>;
  /** Whether the cluster has ordered to place nothing on it. */
  unschedulable: boolean;
  /** The server of several that acts for it, by the address at which the others reach it. */
  owner?: { address: string; leaseAgeMs: number } | undefined;
}

/** The machines of a server, as its operators see them. */
export interface NodeList {
  /** None where the server makes sandboxes itself. */
  list(): Promise<NodeView[]>;
  /** Rejects with `not_found`. */
  setCordoned(name: string, cordoned: boolean): Promise<NodeView>;
  /**
   * Deletes the record of a node that does not answer, and of its sandboxes, which `close` ends without it. This server does not
   * connect to it again. Rejects with `not_found`, and with `conflict` for a node that answers or has snapshots.
   */
  forget(name: string, close: (node: string) => Promise<void>): Promise<void>;
  /** The disks that answer now, as far as this server acts for them. */
  disks(): StorageMachine[];
}
