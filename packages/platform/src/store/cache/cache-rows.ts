import type { RunConfig } from '../build-rows.ts';

export interface NewCacheEntry {
  key: string;
  /** The key of the result that it was made on; null: the image of the installation, or nothing. */
  parent: string | null;
  /** What made it, without values that may be secrets. */
  description: string;
  /** The snapshot of the files, over the image of the first result. */
  snapshotId: string | null;
  /** The digest of an image of the same files. */
  image: string | null;
  imageBytes: number | null;
  /** The config of an image that was pulled from a registry. */
  config: ImageConfig | null;
  createdAt: number;
}

/** What the author of an image wants for its processes. */
export interface ImageConfig extends RunConfig {
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

export interface CachedResult extends NewCacheEntry {
  lastUsedAt: number;
}

export interface CacheEntry extends CachedResult {
  /** Whether a template, or a sandbox or snapshot of one, needs the image too. */
  isImageShared: boolean;
}
