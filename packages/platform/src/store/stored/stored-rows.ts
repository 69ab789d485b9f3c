/** `storing` until its manifest is in the blob store, then `stored`, and `removing` until it is gone there. */
export type StoredState = 'storing' | 'stored' | 'removing';

/** What a copy is of. */
export type StoredSubject =
  | { sandboxId: string; pausedAt: number | null }
  | { snapshotId: string }
  /** The digest of the image. */
  | { image: string };

export interface NewStored {
  /** The id of the copy in the blob store. */
  id: string;
  of: StoredSubject;
  /** What the writer has to own until it is complete: a node, or what begins with `*`. */
  lease: string;
  createdAt: number;
}

export interface StoredResult {
  manifestSha256: string;
  /** The digest of the image below the copied files, or of the copied image itself. */
  templateDigest: string;
  /** What it takes in the blob store. */
  sizeBytes: number;
  /** The size of an image before it is compressed. */
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
  /** The id is the digest of the image. The nodes know which of them have it. */
  | { kind: 'image'; id: string };

/** Copies in the blob store as the database has them: each is of a pause of a sandbox, of a snapshot or of an image. */
export interface StoredTable {
  id: string;
  state: StoredState;
  sandboxId: string | null;
  pausedAt: number | null;
  snapshotId: string | null;
  /** The digest of the image. */
  image: string | null;
  /** The lease under which it is made. */
  lease: string;
  /** The server that makes it; null: the only one. */
  owner: string | null;
  createdAt: number;
  manifestSha256: string | null;
  templateDigest: string | null;
  sizeBytes: number | null;
  /** The size of an image before it is compressed. */
  imageBytes: number | null;
}
