import type { BlobStore } from '@skerry/blobs';
import type { SnapshotId } from '../runtime.ts';

/**
 * Snapshots in a store that other hosts can reach. A snapshot and its copy in the store do not depend on each other: a copy has an id of its
 * own, which is never used again.
 */
export interface SnapshotCopies {
  /**
   * Writes a snapshot of this host into a store: its parts, and then the manifest, so that a snapshot whose manifest is in the store
   * is there as a whole. After a failure, what was stored stays there for a further call. Rejects with `not_found`, also
   * for an ephemeral one, `damaged` when it differs from its capture, `unsupported` when only this host can restore its
   * memory, and `unavailable` when the store is, or the signal aborted.
   */
  write(id: SnapshotId, options: StoreOptions): Promise<SnapshotCopy>;
  /**
   * Reads a snapshot back from a store, and makes it one of this host, verified as a whole. Leaves nothing when it
   * rejects: with `not_found` when the store has no manifest of it, `damaged` when the manifest or a part is not what its
   * digest says or cannot be true, `unsupported` with the reasons when it needs another image, or its memory a host of
   * another class, `already_exists` and `exhausted` as a capture, and `unavailable` when the store is, or the signal
   * aborted.
   */
  read(id: SnapshotId, options: FetchOptions): Promise<void>;
}

export interface StoreOptions {
  blobs: BlobStore;
  /** The id of the copy. */
  copy: CopyId;
  /** The digest of the image that the snapshot was made on: `sha256:` and 64 hex digits. */
  templateDigest: string;
  signal?: AbortSignal | undefined;
}

export interface FetchOptions extends StoreOptions {
  /** What the write has resolved with. */
  manifestSha256: string;
  /** The image on this host that the snapshot needs below its files, by its absolute path. */
  rootfs: string;
}

export interface SnapshotCopy {
  /**
   * The digest of the manifest, in hex, which a read needs. The manifest has the digests of everything else.
   */
  manifestSha256: string;
  /** What its parts take in the store. */
  sizeBytes: number;
}

/** The id of a copy in the store, in the form of the id of a snapshot. */
export type CopyId = string;

/** Everything of a copy of a snapshot is below it. */
export const toCopyPrefix = (copy: CopyId): string => `${snapshotsPrefix}${copy}/`;

export const snapshotsPrefix = 'snapshots/';

/** What the server says of the manifest, which nodes cannot write: see `createRemoteSnapshots`. */
export const toSignatureKey = (copy: CopyId): string => `${toCopyPrefix(copy)}signature`;

/** Stored last: where it is, everything that it names is, too. */
export const toManifestKey = (copy: CopyId): string => `${toCopyPrefix(copy)}manifest.json`;
