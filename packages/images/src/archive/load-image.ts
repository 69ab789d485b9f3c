import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { ImageConfig } from '../oci/image-config.ts';
import type { LayerSink } from '../oci/layer-sink.ts';
import type { OnProgress } from '../progress.ts';
import type { RequireRoom } from '../room.ts';
import { findImage } from './find-image.ts';
import { unpackArchive } from './unpack-archive.ts';

/**
 * Unpacks an image of an archive, an OCI image layout or one of `docker save`, into `tree`. `scratch` is a
 * folder for its parts, which is made, and removed again. Resolves with the config of the image. Rejects with ImageError
 * or the reason of `signal`; the tree cannot be used then.
 */
export async function loadImage(options: {
  archive: string;
  /** The name or digest of the image; by default the archive must have one alone. */
  image?: string | undefined;
  scratch: string;
  tree: LayerSink;
  onProgress: OnProgress;
  requireRoom: RequireRoom;
  signal?: AbortSignal | undefined;
}): Promise<{ config: ImageConfig }> {
  const { archive, image, scratch, tree, onProgress, requireRoom, signal } = options;
  onProgress({ phase: 'pull', message: 'reading the archive', fraction: 0 });
  try {
    const content = await unpackArchive({ archive, folder: scratch, requireRoom, signal });
    const { layers, config } = await findImage(content, image);
    await tree.begin();
    for (const [index, { path, ...layer }] of layers.entries()) {
      const message = `unpacking layer ${index + 1} of ${layers.length}`;
      onProgress({ phase: 'pull', message, fraction: ((index + 1) / layers.length) * 0.8 });
      await tree.addLayer({ ...layer, blob: createReadStream(path) });
    }
    await tree.endLayers();
    return { config };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
