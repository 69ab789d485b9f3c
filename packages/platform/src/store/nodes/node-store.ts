import type { Features } from '@skerry/runtime';
import type { LeaseHolder } from '../leases/lease-store.ts';

/** The machines on which the sandboxes of this installation are; none where they are on that of the server. */
export interface NodeStore {
  /**
   * Records the node at that address, and raises its epoch, from 0 for a new one. Resolves with the row. With a holder its lease is taken
   * in the same transaction; undefined, and nothing is written, when another owner has it.
   */
  claimNode(node: { name: string; address: string }): Promise<NodeRow>;
  claimNode(node: { name: string; address: string }, holder: LeaseHolder): Promise<NodeRow | undefined>;
  /** By name. */
  listNodes(): Promise<NodeRow[]>;
  /** Resolves with the changed row; undefined when there is no such node. */
  setCordoned(name: string, cordoned: boolean): Promise<NodeRow | undefined>;
  /** Records what its owner knows of it, for the other servers. */
  noteNodeStatus(name: string, status: NodeStatus): Promise<void>;
  /** Records when the node last answered, and that it is not lost. */
  noteNodeSeen(name: string, at: number): Promise<void>;
  /** Records that the node is held for dead. */
  noteNodeLost(name: string, at: number): Promise<void>;
  /** What the sandboxes on each node take, without nodes that have none. */
  measureNodes(): Promise<NodeLoad[]>;
  /**
   * Deletes a node, with the snapshots on it that are being removed and the instances that wait there, in one transaction with the check that no other snapshot and no
   * active sandbox is on it; `in_use` when there is one.
   */
  forgetNode(name: string): Promise<'forgotten' | 'in_use' | 'not_found'>;
}

export interface NodeRow {
  name: string;
  /** `host:port` */
  address: string;
  /** Of the server that last claimed it. */
  epoch: number;
  /** Whether no new sandbox is placed on it. */
  cordoned: boolean;
  /** When it last answered; null: never. */
  seenAt: number | null;
  /** When it was held for dead; null: it is not. */
  lostAt: number | null;
  /** Null until a server of several has recorded it. */
  status: NodeStatus | null;
}

/** A node as its owner sees it. */
export interface NodeStatus {
  state: 'ready' | 'settling' | 'unreachable';
  problem?: string | undefined;
  /** Of skerry. */
  version?: string | undefined;
  room?: { sandboxes: number; memoryMb: number } | undefined;
  /** Of its machine; not exact. */
  usedMemoryMb?: number | undefined;
  features?: Features | undefined;
}

export interface NodeLoad {
  name: string;
  /** Sandboxes that have a place. */
  placed: number;
  /** What those may take. */
  memoryMb: number;
  /** Sandboxes in any other active state, such as paused ones. */
  others: number;
  /** Snapshots that are not removed. */
  snapshots: number;
}
