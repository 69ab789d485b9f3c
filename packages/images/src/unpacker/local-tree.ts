import { loadImage } from '../archive/load-image.ts';
import { addNode, hasNode } from '../base/add-node.ts';
import { finishRootfs, prepareForSandboxes } from '../base/finish.ts';
import { findMissing } from '../base/missing-packages.ts';
import { baseRecipes } from '../base/recipe.ts';
import { isRootfsFile } from '../base/rootfs-file.ts';
import { shiftOwners } from '../base/shift-owners.ts';
import { digestTree } from '../base/tree-digest.ts';
import type { ImageTree } from '../image-tree.ts';
import { createLayerSink } from '../oci/layer-sink.ts';
import type { RequireRoom } from '../room.ts';
import { settleTimes } from '../template/settle-times.ts';

/** The tree of an image that this process makes in `rootfs`. */
export const createLocalTree = (
  rootfs: string,
  { requireRoom }: { requireRoom: RequireRoom },
): Omit<ImageTree, 'close'> => {
  const sink = createLayerSink(rootfs, { requireRoom });
  return {
    ...sink,
    load: (source, { onProgress }) => loadImage({ ...source, tree: sink, onProgress, requireRoom }),
    prepare: async ({ config, sinceMs, ownerOffset }) => {
      await prepareForSandboxes(rootfs, config);
      await settleTimes(rootfs, { sinceMs });
      if (ownerOffset !== 0) await shiftOwners(rootfs, { by: ownerOffset });
    },
    inspectBase: async (contents) => ({
      packages: findMissing(rootfs, baseRecipes[contents]),
      hasNode: hasNode(rootfs),
      hasApt: isRootfsFile(rootfs, '/usr/bin/apt-get'),
    }),
    finishBase: async ({ node }) => {
      if (node !== undefined) addNode(rootfs, node);
      await finishRootfs(rootfs);
      return digestTree(rootfs);
    },
  };
};
