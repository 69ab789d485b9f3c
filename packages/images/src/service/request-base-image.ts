import { createClient, type Transport } from '@connectrpc/connect';
import type { BaseImageOptions } from '../base/base-image.ts';
import type { BaseImage } from '../base/manifest.ts';
import { ImagesService } from '../gen/skerry/images/v1/images_pb.ts';
import { readProgress } from './read-progress.ts';

/**
 * Has the base template made in the process that the transport leads to, where `imagesDir`, an absolute path, does not
 * hold it: with `asFile` as a file, which only a runtime of root can mount. Rejects with ImageError, the reason of
 * `signal`, or what the transport rejects with; the other process may still be cleaning up then.
 */
export async function requestBaseImage(
  transport: Transport,
  options: Omit<BaseImageOptions, 'credentials' | 'withFolderLock' | 'openTree' | 'makeFile'> & {
    asFile: boolean;
  },
): Promise<BaseImage> {
  const { imagesDir, contents, npm, registryImage, ownerOffset = 0, asFile, signal } = options;
  const request = {
    ...{ imagesDir, contents, ownerOffset, asFile },
    ...(npm && { npm: { program: npm.program, env: { ...npm.env } } }),
    ...(registryImage !== undefined && { registryImage }),
  };
  const client = createClient(ImagesService, transport);
  const image = await readProgress(client.ensureBaseImage(request, signal ? { signal } : {}), options);
  return { rootfs: image.rootfs, digest: image.digest, missing: image.missing };
}

/** Has an image that a sandbox has completed put in the place of the incomplete one. Rejects with what the transport rejects with. */
export async function requestCompletion(
  transport: Transport,
  options: Pick<BaseImageOptions, 'imagesDir' | 'contents' | 'registryImage'> & {
    asFile: boolean;
    /** The absolute path of what the sandbox has made. */
    image: string;
    digest: string;
  },
): Promise<BaseImage> {
  const { imagesDir, contents, registryImage, asFile, image, digest } = options;
  const request = {
    ...{ imagesDir, contents, asFile, image, digest },
    ...(registryImage !== undefined && { registryImage }),
  };
  const { image: completed } = await createClient(ImagesService, transport).completeBaseImage(request);
  if (completed === undefined) throw new Error('the process that makes images sent none');
  return { rootfs: completed.rootfs, digest: completed.digest, missing: completed.missing };
}
