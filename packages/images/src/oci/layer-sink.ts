import { mkdirSync, rmSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { RequireRoom } from '../room.ts';
import type { LayerDescriptor } from './image-manifest.ts';
import { createStrangeOwners, type StrangeOwners } from './layer/owners.ts';
import { createImageBudget, type UnpackBudget, unpackLayer, type Verification } from './unpack.ts';

/** What makes a tree of the layers of an image. */
export interface LayerSink {
  /** Makes the tree anew, empty: what earlier layers left is removed, and no longer counts. */
  begin(): Promise<void>;
  /** Unpacks the next layer over the tree, as its bytes arrive. Rejects as `unpackLayer` does. */
  addLayer(layer: AddedLayer): Promise<void>;
  /** Call it after the last layer. Rejects with `unsuitable_image` for a file that no sandbox can own. */
  endLayers(): Promise<void>;
}

export interface AddedLayer {
  descriptor: LayerDescriptor;
  blob: Readable;
  /** What the digest is of, by default the blob. */
  verifies?: Verification;
  /** Called with the number of bytes of the blob that were taken. */
  onBytes?: ((count: number) => void) | undefined;
}

/** Unpacks layers into `rootfs` in this process. */
export const createLayerSink = (
  rootfs: string,
  {
    requireRoom,
    signal,
    ...options
  }: { budget?: UnpackBudget; requireRoom?: RequireRoom | undefined; signal?: AbortSignal | undefined } = {},
): LayerSink => {
  let budget: UnpackBudget;
  let owners: StrangeOwners;
  return {
    begin: async () => {
      rmSync(rootfs, { recursive: true, force: true });
      mkdirSync(rootfs);
      budget = { ...(options.budget ?? createImageBudget()) };
      owners = createStrangeOwners(rootfs);
    },
    addLayer: (layer) => unpackLayer({ root: rootfs, ...layer, budget, owners, requireRoom, signal }),
    endLayers: async () => owners.refuse(),
  };
};
