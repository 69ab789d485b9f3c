import type { Features } from '@skerry/runtime';

export interface NodeRow {
  name: string;
  /** `host:port` */
  address: string;
  /** The epoch of the server that last claimed the node. */
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
  /** The version of skerry on the node. */
  version?: string | undefined;
  room?: { sandboxes: number; memoryMb: number } | undefined;
  /** The used memory of the whole machine; approximate. */
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
