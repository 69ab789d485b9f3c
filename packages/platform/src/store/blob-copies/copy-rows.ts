/** `copying` until its manifest is in the blob store, then `complete`, and `removing` until it is gone there. */
export type CopyState = 'copying' | 'complete' | 'removing';

/** What a copy is of. */
export type CopySubject =
  | { sandboxId: string; pausedAt: number | null }
  | { snapshotId: string }
  /** The digest of the image. */
  | { image: string };

export interface NewBlobCopy {
  /** The id of the copy in the blob store. */
  id: string;
  of: CopySubject;
  /** What the writer has to own until it is complete: a node, or what begins with `*`. */
  lease: string;
  createdAt: number;
}

export interface CopyResult {
  manifestSha256: string;
  /** The digest of the image below the copied files, or of the copied image itself. */
  templateDigest: string;
  /** What it takes in the blob store. */
  sizeBytes: number;
  /** The size of an image before it is compressed. */
  imageBytes?: number;
}

export interface BlobCopyRow extends CopyResult {
  id: string;
  state: 'complete';
  of: CopySubject;
  createdAt: number;
}

/** What lacks a copy. */
export type MissingCopy =
  | { kind: 'sandbox'; id: string; node: string; pausedAt: number | null }
  | { kind: 'snapshot'; id: string; node: string }
  /** The id is the digest of the image. The nodes know which of them have it. */
  | { kind: 'image'; id: string };

/** Copies in the blob store as the database has them: each is of a pause of a sandbox, of a snapshot or of an image. */
export interface BlobCopyTable {
  id: string;
  state: CopyState;
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
