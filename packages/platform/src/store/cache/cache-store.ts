/** What the steps of builds have made, by their keys. */
export interface CacheStore {
  /**
   * Keeps a result under its key; its snapshot, in state `making`, becomes ready. With `replaces` an earlier result of that
   * key goes, and all that were made on it; otherwise the two are of equal files, and what each has is kept. Resolves with false
   * when the result that it was made on is gone; then nothing is written.
   */
  keepCached(entry: NewCacheEntry, options: { replaces: boolean }): Promise<boolean>;
  /** Those of these keys that there are, in any order. */
  findCached(keys: readonly string[]): Promise<CacheEntry[]>;
  /** Marks a result, and those that it was made on, as used at that time. */
  touchCached(key: string, at: number): Promise<void>;
  /** The one that was used last first; of equal ones, what was made on another before that. */
  listCached(): Promise<CacheEntry[]>;
  /**
   * Removes results, and all that were made on them. Resolves with the keys that it has removed. Their snapshots and
   * images stay until `retireUnused` and `retireImages`.
   */
  removeCached(keys: readonly string[]): Promise<string[]>;
}

export interface NewCacheEntry {
  key: string;
  /** The key of the result that it was made on; null: the image of the installation, or nothing. */
  parent: string | null;
  /** What made it, without values that may be secrets. */
  description: string;
  /** Of the files, over the image of the first result. */
  snapshotId: string | null;
  /** The digest of an image of the same files. */
  image: string | null;
  imageBytes: number | null;
  /** For an image of a registry. */
  config: ImageConfig | null;
  createdAt: number;
}

/** What the author of an image wants for its processes. */
export interface ImageConfig {
  env: Record<string, string>;
  /** A name or a number, optionally with `:` and a group. Empty: root. */
  user: string;
  /** Absolute, or empty for `/`. */
  workdir: string;
  /** The words of its command, which begin with those of the entry point. */
  entrypoint: string[];
  command: string[];
  /** The words of its health check; empty for none. */
  healthcheck: string[];
  /** Instructions for images that are built on it. */
  onbuild: string[];
  /** The TCP ports on which its command listens. */
  exposedPorts: number[];
}

export interface CacheEntry extends NewCacheEntry {
  lastUsedAt: number;
  /** Whether a template, or a sandbox or snapshot of one, needs the image too. */
  isImageShared: boolean;
}
