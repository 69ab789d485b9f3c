import { createReadStream, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { OnProgress } from '../base/progress.ts';
import type { ImageConfig } from '../oci/image-config.ts';
import { createStrangeOwners } from '../oci/layer/owners.ts';
import { createImageBudget, unpackLayer } from '../oci/unpack.ts';
import { findImage } from './find-image.ts';
import { unpackArchive } from './unpack-archive.ts';

/**
 * Unpacks an image of an archive, an OCI image layout or one of `docker save`, into `rootfs`, which must not exist. `scratch` is a
 * folder for its parts, which is made, and removed again. Resolves with the config of the image. Rejects with ImageError
 * or the reason of `signal`; the content of `rootfs` cannot be used then.
 */
export async function loadImage(options: {
  archive: string;
  /** Its name or digest; by default the archive must have one alone. */
  image?: string | undefined;
  scratch: string;
  rootfs: string;
  onProgress: OnProgress;
  requireRoom: (sizeBytes: number) => void;
  signal?: AbortSignal | undefined;
}): Promise<{ config: ImageConfig }> {
  const { archive, image, scratch, rootfs, onProgress, requireRoom, signal } = options;
  onProgress({ phase: 'pull', message: 'reading the archive', fraction: 0 });
  try {
    const content = await unpackArchive({ archive, folder: scratch, requireRoom, signal });
    const { layers, config } = await findImage(content, image);
    const budget = createImageBudget();
    mkdirSync(rootfs);
    const owners = createStrangeOwners(rootfs);
    for (const [index, { path, descriptor, verifies }] of layers.entries()) {
      const message = `unpacking layer ${index + 1} of ${layers.length}`;
      onProgress({ phase: 'pull', message, fraction: ((index + 1) / layers.length) * 0.8 });
      const blob = createReadStream(path);
      await unpackLayer({ root: rootfs, blob, descriptor, verifies, budget, owners, requireRoom, signal });
    }
    owners.refuse();
    return { config };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
