import type { FetchedNode } from './base/add-node.ts';
import type { BaseContents } from './base/contents.ts';
import type { TreeDigest } from './base/tree-digest.ts';
import type { WorkdirConfig } from './base/workdir.ts';
import type { ImageConfig } from './oci/image-config.ts';
import type { LayerSink } from './oci/layer-sink.ts';
import type { OnProgress } from './progress.ts';

/**
 * The tree of one image, which a process of its own makes and changes: nothing that an image contains takes memory or time of
 * this one. Every call rejects with ImageError, `too_large` where the limits of that process end it, or with the reason
 * of the signal with which the tree was opened. After a rejection the tree cannot be used; its remains are the caller's.
 */
export interface ImageTree extends LayerSink {
  /** Unpacks an image of an archive as `loadImage` does. */
  load(source: LoadedArchive, options: { onProgress: OnProgress }): Promise<{ config: ImageConfig }>;
  /**
   * Adds what every sandbox needs, also the working folder of `config`, and settles the times of what was written since `sinceMs`. Raises all
   * owners by `ownerOffset` afterwards.
   */
  prepare(options: { config: WorkdirConfig; sinceMs: number; ownerOffset: number }): Promise<void>;
  /** What the tree lacks of a base template. */
  inspectBase(contents: BaseContents): Promise<BaseLack>;
  /** Adds Node.js, turns the tree into a base template, and describes it. */
  finishBase(options: { node: FetchedNode | undefined }): Promise<TreeDigest>;
  /** Ends the process. Resolves when nothing changes the tree any more. */
  close(): Promise<void>;
}

/** An archive and one image in it: its name or digest; by default it must have one alone. */
export interface LoadedArchive {
  archive: string;
  image?: string | undefined;
  /** A folder for its parts, which is made, and removed again. */
  scratch: string;
}

/** Programs of a base template that an image lacks. */
export interface BaseLack {
  /** Debian packages. */
  packages: string[];
  hasNode: boolean;
  hasApt: boolean;
}

export interface OpenTreeOptions {
  /** Where the tree is made; nothing may be there. */
  rootfs: string;
  /** The folder whose file system must have room for what is written. */
  roomFolder: string;
  signal?: AbortSignal | undefined;
}

/** Starts the process that makes a tree. The caller closes it. */
export type OpenTree = (options: OpenTreeOptions) => ImageTree;
