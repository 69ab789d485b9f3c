import { RuntimeError } from '@skerry/runtime';
import type { StoredResult, StoredRow } from '../store/stored/stored-store.ts';
import { type FleetImages, type ImageNode, isImageOfNodes } from './fleet-images.ts';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** The snapshots of one node, in the blob store and back. Calls reject with `RuntimeError`. */
export interface NodeSnapshots {
  /** Resolves when the blob store has the snapshot. */
  store(
    request: { snapshot: string; templateDigest: string },
    options?: { signal?: AbortSignal | undefined },
  ): Promise<{ manifestSha256: string; sizeBytes: number }>;
  /** Resolves when the node has the snapshot. Rejects with `unsupported` and the reasons when it cannot use it. */
  fetch(
    request: { snapshot: string; templateDigest: string; manifestSha256: string; rootfs: string },
    options?: { signal?: AbortSignal | undefined },
  ): Promise<void>;
}

/** A node that answers now, and may reach the blob store. */
export interface CopyNode extends ImageNode {
  baseRootfs: string;
  baseDigest: string;
  snapshots: NodeSnapshots | undefined;
}

/** Snapshots of all nodes in the blob store. Calls reject with `NodeUnreachableError` and `RuntimeError`. */
export interface Copies {
  /** Stores a snapshot of a node, whose files lie over that image. */
  store(
    node: string,
    snapshot: { id: string; rootfs: string },
    options: { signal: AbortSignal },
  ): Promise<StoredResult>;
  /** Makes a copy a snapshot of a node, which gets the image first when it lacks it. `adopt` records where it is then. */
  fetch(
    node: string,
    copy: Pick<StoredRow, 'id' | 'manifestSha256' | 'templateDigest'> & { rootfs: string },
    options: { signal: AbortSignal; adopt?: () => Promise<void> },
  ): Promise<void>;
  /** Whether a fetch of it has not resolved, and the node may have it although no record says so. */
  isBeingFetched(id: string): boolean;
  /** Removes a copy. Idempotent, also for an incomplete one. */
  remove(id: string, options: { signal: AbortSignal }): Promise<void>;
}

export const createCopies = ({
  reachable,
  images,
  remove,
}: {
  /** The nodes that answer now. */
  reachable(): CopyNode[];
  images: Pick<FleetImages, 'toNodePath'>;
  remove: Copies['remove'];
}): Copies => {
  const require = (name: string) => {
    const node = reachable().find((one) => one.name === name);
    if (node?.snapshots === undefined) throw new NodeUnreachableError(name);
    return { ...node, snapshots: node.snapshots };
  };
  const fetching = new Set<string>();
  return {
    remove,
    isBeingFetched: (id) => fetching.has(id),
    store: async (name, { id, rootfs }, { signal }) => {
      const { snapshots, baseDigest } = require(name);
      const templateDigest = isImageOfNodes(rootfs) ? digestOf(rootfs) : baseDigest;
      const stored = await namingNode(name, snapshots.store({ snapshot: id, templateDigest }, { signal }));
      return { ...stored, templateDigest };
    },
    fetch: async (name, { id, manifestSha256, templateDigest, rootfs }, { signal, adopt }) => {
      const node = require(name);
      const path = isImageOfNodes(rootfs) ? await images.toNodePath(rootfs, node) : node.baseRootfs;
      const digest = isImageOfNodes(rootfs) ? digestOf(rootfs) : node.baseDigest;
      const request = { snapshot: id, manifestSha256, rootfs: path };
      if (digest !== templateDigest)
        throw new RuntimeError(
          'unsupported',
          `the image below its files was ${templateDigest} and is ${digest} on node "${name}"`,
        );
      fetching.add(id);
      try {
        await namingNode(name, node.snapshots.fetch({ ...request, templateDigest }, { signal }));
        await adopt?.();
      } finally {
        fetching.delete(id);
      }
    },
  };
};

const digestOf = (path: string): string => path.slice(path.indexOf('sha256:'));
