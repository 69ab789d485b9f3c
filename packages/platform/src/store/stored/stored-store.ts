/**
 * The copies of paused sandboxes and of snapshots in the blob store. A copy of a sandbox is of one pause, which its time names: it is
 * of no use once the sandbox runs again.
 */
export interface StoredStore {
  /**
   * What lacks a copy, or one in progress: paused sandboxes on a node, and snapshots on a node that a tag points to. Those that are oldest
   * first.
   */
  listUnstored(): Promise<Unstored[]>;
  /** Writes a row in state `storing`. */
  beginStored(copy: NewStored): Promise<void>;
  /** Moves a row to `stored`. Resolves with false when it is not `storing` any more. */
  finishStored(id: string, result: StoredResult): Promise<boolean>;
  /** The copy of a pause, or of a snapshot, that is complete. */
  findStored(
    of: { sandboxId: string; pausedAt: number | null } | { snapshotId: string },
  ): Promise<StoredRow | undefined>;
  /**
   * Moves to `removing` what is of no use: copies in progress that no process makes, those of a sandbox that is not in that pause any
   * more, and those of a snapshot that is not ready; but none that is being made, which is asked at the time. Resolves with all that are
   * `removing`.
   */
  retireStored(isBeingMade: (id: string) => boolean): Promise<string[]>;
  /** Deletes the row of a copy that is removed. */
  forgetStored(id: string): Promise<void>;
  /** Records that a ready snapshot is on that node now. */
  moveSnapshot(id: string, node: string): Promise<void>;
  /** Takes a paused sandbox from its node if that pause has a complete copy. Resolves with whether it has been taken. */
  detachStored(sandboxId: string): Promise<boolean>;
  /** Takes everything that has a complete copy, and is not used there, from a node. */
  detachNode(node: string): Promise<void>;
}

/** `storing` until its manifest is in the blob store, then `stored`, and `removing` until it is gone there. */
export type StoredState = 'storing' | 'stored' | 'removing';

export interface NewStored {
  /** Of the snapshot in the blob store. */
  id: string;
  /** Null: of the snapshot of that id. */
  sandboxId: string | null;
  pausedAt: number | null;
  createdAt: number;
}

export interface StoredResult {
  manifestSha256: string;
  /** Of the image below its files. */
  templateDigest: string;
  /** What it takes in the blob store. */
  sizeBytes: number;
}

export interface StoredRow extends NewStored, StoredResult {
  state: 'stored';
}

/** What lacks a copy. */
export interface Unstored {
  kind: 'sandbox' | 'snapshot';
  id: string;
  node: string;
  /** Of a sandbox. */
  pausedAt: number | null;
}
