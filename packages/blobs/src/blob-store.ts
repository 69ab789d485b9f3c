import type { Readable } from 'node:stream';
import type { ByteRange } from './blob-key.ts';

/**
 * Keeps blobs: bytes under a key, see `parseKey`. A blob is there as a whole or not at all, and never changes but by
 * being replaced as a whole. Every rejection is a `BlobError`: with `invalid` for a key that cannot be used, `denied`
 * and `unavailable` from any call, and `aborted` once the signal has aborted. `suite.ts` defines it as tests.
 */
export interface BlobStore {
  /**
   * Stores what the stream yields, of a known or an unknown size. The blob is durable when it resolves; the former one
   * of the key is replaced then. No more than a few parts of the body are in memory, see the adapter.
   *
   * When it rejects the former blob, or none, is there; the new one only where the store has lost the answer. It
   * rejects with `incomplete` when the body fails or has not `sizeBytes`, and with `exhausted`. The body is read to its
   * end, or destroyed.
   */
  put(
    key: string,
    body: Readable,
    options?: { sizeBytes?: number; signal?: AbortSignal | undefined },
  ): Promise<{ sizeBytes: number }>;
  /**
   * Opens a blob, or a range of it. Rejects with `not_found`, and with `invalid` for a range that begins at its end or
   * behind. The body ends after `sizeBytes`, or fails with a `BlobError`; it must be read or destroyed. The signal
   * counts until then.
   */
  get(
    key: string,
    options?: { range?: ByteRange; signal?: AbortSignal | undefined },
  ): Promise<{ sizeBytes: number; body: Readable }>;
  /** Describes a blob; undefined when there is none. */
  head(key: string, options?: { signal?: AbortSignal | undefined }): Promise<BlobInfo | undefined>;
  /** Removes a blob. Idempotent. */
  delete(key: string, options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * Lists the blobs whose keys begin with `prefix`, ordered by key. Those that are stored or removed meanwhile may be
   * listed or not.
   */
  list(prefix: string, options?: { signal?: AbortSignal | undefined }): AsyncIterable<BlobInfo>;
  /**
   * Removes what puts that began before `startedBefore` have left without an end: their process was killed, or the
   * store did not answer. They are no blobs, but take room. Resolves with their number. A put of that age that is still
   * in progress fails.
   */
  removeAbandoned(options: { startedBefore: Date; signal?: AbortSignal | undefined }): Promise<number>;
  /** Releases connections. No call may be in progress. */
  close(): Promise<void>;
}

export interface BlobInfo {
  key: string;
  sizeBytes: number;
  /** When it was stored, by the clock of the store. */
  modifiedAt: Date;
}
