import { join } from 'node:path';
import { createTemplateImages, ImageError, type ImageErrorCode } from '@skerry/images';
import { findTarget, type ImageRule } from '@skerry/images/image-map';
import { type TemplateImages, UnusableImageError } from '@skerry/platform';
import type { RemoteRuntime } from '@skerry/runtime';

/** The errors that the owner of a build can do something about. The others are the host's. */
const ofOwner: readonly ImageErrorCode[] = [
  'invalid_reference',
  'registry_unavailable',
  'registry_refused',
  'corrupt',
  'unsafe',
  'too_large',
  'no_room',
  'unsuitable_image',
];

/** What the operator allows builds to reach beside public addresses. */
interface TemplateImagesAccess {
  allowedRegistries: readonly string[];
  ecrEndpoint: string | undefined;
}

/** The images of the templates of a data folder, which its helper makes; undefined where the runtime uses no files. */
export function openTemplateImages(
  runtime: RemoteRuntime,
  {
    dataDir,
    imageMap,
    ...access
  }: TemplateImagesAccess & { dataDir: string; imageMap: readonly ImageRule[] },
): TemplateImages | undefined {
  if (!runtime.features.imageFiles) return undefined;
  const images = createTemplateImages(runtime.transport, {
    folder: join(dataDir, 'templates'),
    ...access,
  });
  return {
    ...images,
    check: (reference) => {
      try {
        images.check(reference);
      } catch (error) {
        throw toOwner(error);
      }
    },
    findTarget: (reference) => findTarget(imageMap, reference),
    make: (options) => images.make(options).catch(rejectForOwner),
    load: (options) => images.load(options).catch(rejectForOwner),
    save: (options) => images.save(options).catch(rejectForOwner),
    findOrigin: (options) => images.findOrigin(options).catch(rejectForOwner),
  };
}

const rejectForOwner = (error: unknown): never => {
  throw toOwner(error);
};

const toOwner = (error: unknown): unknown =>
  error instanceof ImageError && ofOwner.includes(error.code)
    ? new UnusableImageError(error.message, { cause: error })
    : error;
