import type { Readable } from 'node:stream';
import { ApiError } from '@skerry/contract/error';
import { isRuntimeError, RuntimeError, RuntimeLostError } from '@skerry/runtime';
import type { BlobCopyRow, CopyResult } from '../store/blob-copies/copy-rows.ts';
import type { Store } from '../store/store.ts';
import { type FleetImages, type ImageNode, isImageOfNodes, type OpenImage } from './fleet-images.ts';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** The snapshots of one node, in the blob store and back. Calls reject with `RuntimeError`. */
export interface NodeSnapshots {
  /** Resolves when the blob store has the snapshot, as a copy of that id. */
  store(
    request: { snapshot: string; copy: string; templateDigest: string },
    options?: { signal?: AbortSignal | undefined },
  ): Promise<{ manifestSha256: string; sizeBytes: number }>;
  /** Resolves when the node has the snapshot. Rejects with `unsupported` and the reasons when it cannot use it. */
  fetch(
    request: {
      snapshot: string;
      copy: string;
      templateDigest: string;
      manifestSha256: string;
      rootfs: string;
    },
    options?: { signal?: AbortSignal | undefined },
  ): Promise<void>;
}

/** What the server itself does with the blob store. Calls reject with `RuntimeError`. */
export interface CopyStore {
  /** Removes a copy. Idempotent, also for an incomplete one. */
  remove(id: string, options: { signal: AbortSignal }): Promise<void>;
  /** The ids of all copies of which something is there. */
  listIds(options: { signal: AbortSignal }): AsyncIterable<string>;
  /** Stores the file of an image; the body is read or destroyed. */
  writeImage(id: string, options: { body: Readable; signal: AbortSignal }): Promise<{ sizeBytes: number }>;
  /** The file of an image, which must be read or destroyed. */
  readImage(id: string): Promise<Readable>;
}

/** A node that answers now, and may reach the blob store. */
export interface CopyNode extends ImageNode {
  baseRootfs: string;
  baseDigest: string;
  snapshots: NodeSnapshots | undefined;
}

/** Snapshots of all nodes in the blob store, and images. Calls reject with `NodeUnreachableError`, `ApiError` and `RuntimeError`. */
export interface Copies extends Pick<CopyStore, 'remove' | 'listIds'> {
  /** Stores a snapshot of a node, whose files lie over that image, as a copy of that id. */
  store(
    node: string,
    copy: { id: string; snapshot: string; rootfs: string },
    options: { signal: AbortSignal },
  ): Promise<CopyResult>;
  /** Whether a node answers. */
  hasNodes(): boolean;
  /** Stores an image that a node has, as a copy of that id. Rejects with `unavailable` when no node that answers has it. */
  storeImage(copy: { id: string; digest: string }, options: { signal: AbortSignal }): Promise<CopyResult>;
  /**
   * Makes a copy a snapshot of a node, which gets the image first when it lacks it. `adopt` records where it is then.
   */
  fetch(
    node: string,
    copy: Pick<BlobCopyRow, 'id' | 'manifestSha256' | 'templateDigest'>,
    as: { snapshot: string; rootfs: string },
    options: { signal?: AbortSignal | undefined; adopt?: () => Promise<void> },
  ): Promise<void>;
  /** Whether a fetch of that snapshot has not resolved, and the node may have it although no record says so. */
  isBeingFetched(snapshot: string): boolean;
}

export const createCopies = ({
  reachable,
  images,
  blobs,
}: {
  /** The nodes that answer now. */
  reachable(): CopyNode[];
  images: Pick<FleetImages, 'toNodePath' | 'open'>;
  blobs: CopyStore;
}): Copies => {
  const require = (name: string) => {
    const node = reachable().find((one) => one.name === name);
    if (node?.snapshots === undefined) throw new NodeUnreachableError(name);
    return { ...node, snapshots: node.snapshots };
  };
  const fetching = new Set<string>();
  return {
    remove: blobs.remove,
    listIds: blobs.listIds,
    isBeingFetched: (snapshot) => fetching.has(snapshot),
    store: async (name, { id, snapshot, rootfs }, { signal }) => {
      const { snapshots, baseDigest } = require(name);
      const templateDigest = isImageOfNodes(rootfs) ? digestOf(rootfs) : baseDigest;
      const request = { snapshot, copy: id, templateDigest };
      const stored = await namingNode(name, snapshots.store(request, { signal }));
      return { ...stored, templateDigest };
    },
    hasNodes: () => reachable().length > 0,
    storeImage: async ({ id, digest }, { signal }) => {
      const { sizeBytes: imageBytes, body } = await images.open(digest);
      const { sizeBytes } = await blobs.writeImage(id, { body, signal });
      return { manifestSha256: '', templateDigest: digest, sizeBytes, imageBytes };
    },
    fetch: async (name, { id, manifestSha256, templateDigest }, { snapshot, rootfs }, { signal, adopt }) => {
      const node = require(name);
      const path = isImageOfNodes(rootfs) ? await images.toNodePath(rootfs, node) : node.baseRootfs;
      const digest = isImageOfNodes(rootfs) ? digestOf(rootfs) : node.baseDigest;
      if (digest !== templateDigest)
        throw new RuntimeError(
          'unsupported',
          `the image below its files was ${templateDigest} and is ${digest} on node "${name}"`,
        );
      const request = { snapshot, copy: id, manifestSha256, templateDigest, rootfs: path };
      fetching.add(snapshot);
      try {
        await namingNode(name, node.snapshots.fetch(request, { signal })).catch((error: unknown) => {
          throw toFetchFailure(error);
        });
        await adopt?.();
      } finally {
        fetching.delete(snapshot);
      }
    },
  };
};

/** Opens an image of the blob store; undefined when that has no complete copy of it. */
export const openStoredImage = async (
  digest: string,
  { store, blobs }: { store: Pick<Store, 'findBlobCopy'>; blobs: Pick<CopyStore, 'readImage'> },
): Promise<OpenImage | undefined> => {
  const copy = await store.findBlobCopy({ image: digest });
  if (copy?.imageBytes === undefined) return undefined;
  return { sizeBytes: copy.imageBytes, body: await blobs.readImage(copy.id) };
};

/** 503 where another attempt may succeed: the copy is on record, so the blob store has it. */
const toFetchFailure = (error: unknown): unknown =>
  !(error instanceof RuntimeLostError) &&
  (isRuntimeError(error, 'unavailable') || isRuntimeError(error, 'not_found'))
    ? new ApiError('unavailable', 'what it begins with cannot be read from the blob store now', {
        cause: error,
        reason: 'sandbox_capacity_unavailable',
      })
    : error;

const digestOf = (path: string): string => path.slice(path.indexOf('sha256:'));
