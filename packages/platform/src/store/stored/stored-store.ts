/**
 * The copies in the blob store. A copy of a sandbox is of one pause, which its time names: it is of no use once the sandbox runs again. The
 * id of a copy is used once: a removal that comes late removes nothing else.
 */
export interface StoredStore {
  /**
   * What lacks a copy, or one in progress: paused sandboxes on a node, and snapshots on a node that a tag points to or that are the
   * checkpoint of a build with a tag; then images of builds. Those that are oldest first.
   */
  listUnstored(): Promise<Unstored[]>;
  /** Writes a row in state `storing`. Rejects with `unavailable` unless the writer has the lease. */
  beginStored(copy: NewStored): Promise<void>;
  /**
   * Moves a row of the writer to `stored`. Resolves with false when it is not `storing` any more; rejects with `unavailable` when the
   * writer has lost the lease of the row.
   */
  finishStored(id: string, result: StoredResult): Promise<boolean>;
  /** The copy of a pause, a snapshot or an image that is complete. */
  findStored(of: StoredSubject): Promise<StoredRow | undefined>;
  /**
   * Moves to `removing` what is of no use: copies in progress that no process makes, those of a sandbox that is not in that pause any
   * more, of a snapshot that is not ready, and of an image without a build; but none that is being made, which is asked at the time, or
   * whose maker has its lease. Resolves with all that are `removing`.
   */
  retireStored(isBeingMade: (id: string) => boolean): Promise<string[]>;
  /** Deletes the row of a copy that is removed. */
  forgetStored(id: string): Promise<void>;
  /** The ids of all copies that have a row. */
  listStoredIds(): Promise<string[]>;
  /**
   * Records that a ready snapshot is on that node now. Resolves with false when it is no longer where it was before. Rejects with
   * `unavailable` unless the writer acts for the new node.
   */
  moveSnapshot(id: string, move: { from: string | null; to: string }): Promise<boolean>;
  /** The snapshots on a node that `listUnstored` would list without their copies. */
  listKeptSnapshots(node: string): Promise<string[]>;
  /** Takes a paused sandbox from its node if that pause has a complete copy. Resolves with whether it has been taken. */
  detachStored(sandboxId: string): Promise<boolean>;
  /** The same for a ready snapshot. */
  detachSnapshot(id: string): Promise<boolean>;
  /** Takes everything that has a complete copy, and is not used there, from a node. */
  detachNode(node: string): Promise<void>;
}

/** `storing` until its manifest is in the blob store, then `stored`, and `removing` until it is gone there. */
export type StoredState = 'storing' | 'stored' | 'removing';

/** What a copy is of. */
export type StoredSubject =
  | { sandboxId: string; pausedAt: number | null }
  | { snapshotId: string }
  /** Its digest. */
  | { image: string };

export interface NewStored {
  /** Of the copy in the blob store. */
  id: string;
  of: StoredSubject;
  /** What the writer has to own until it is complete: a node, or what begins with `*`. */
  lease: string;
  createdAt: number;
}

export interface StoredResult {
  manifestSha256: string;
  /** Of the image below its files, or of the image itself. */
  templateDigest: string;
  /** What it takes in the blob store. */
  sizeBytes: number;
  /** Of an image, before it is compressed. */
  imageBytes?: number;
}

export interface StoredRow extends StoredResult {
  id: string;
  state: 'stored';
  of: StoredSubject;
  createdAt: number;
}

/** What lacks a copy. */
export type Unstored =
  | { kind: 'sandbox'; id: string; node: string; pausedAt: number | null }
  | { kind: 'snapshot'; id: string; node: string }
  /** Its digest; the nodes know which of them have it. */
  | { kind: 'image'; id: string };
