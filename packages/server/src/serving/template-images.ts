import { join } from 'node:path';
import { createTemplateImages, ImageError, isOfOwner, type TemplateImagesOptions } from '@skerry/images';
import { findTarget, type ImageRule } from '@skerry/images/image-map';
import { type HostImages, UnusableImageError } from '@skerry/platform';
import type { Features, RemoteRuntime } from '@skerry/runtime';
import { toImageOptions } from '../host/rootless.ts';

/** What the operator allows builds to reach beside public addresses, and to keep. */
interface TemplateImagesAccess {
  allowedRegistries: readonly string[];
  ecrEndpoint: string | undefined;
  /** What names of images mean to builds. */
  imageMap: readonly ImageRule[];
  /** Whether pulls keep their layers for later ones. */
  keepsLayers: boolean;
}

/**
 * The images of the templates of a data folder, which the process behind the transport makes; undefined where the runtime exports
 * none.
 */
export function openTemplateImages(
  transport: RemoteRuntime['transport'],
  { features, dataDir, ...options }: TemplateImagesAccess & { features: Features; dataDir: string },
): HostImages | undefined {
  if (!features.imageExport) return undefined;
  const folders = { folder: join(dataDir, 'templates'), layersFolder: join(dataDir, 'layers') };
  return createImagesOf(transport, { ...folders, ...toImageOptions(), ...options });
}

/** The images of the templates of a node, in that folder of its own. It keeps no layers and saves no image. */
export function openNodeTemplateImages(
  transport: RemoteRuntime['transport'],
  options: Omit<TemplateImagesAccess, 'keepsLayers'> & { folder: string },
): HostImages {
  const images = createImagesOf(transport, { asFile: true, keepsLayers: false, ...options });
  return { ...images, save: undefined };
}

function createImagesOf(
  transport: RemoteRuntime['transport'],
  { imageMap, ...options }: TemplateImagesOptions & Pick<TemplateImagesAccess, 'imageMap'>,
): HostImages {
  const images = createTemplateImages(transport, options);
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
    // The file system of a folder is not mounted, and its owners are not those of the image.
    save: options.asFile ? (options) => images.save(options).catch(rejectForOwner) : undefined,
    findOrigin: (options) => images.findOrigin(options).catch(rejectForOwner),
  };
}

const rejectForOwner = (error: unknown): never => {
  throw toOwner(error);
};

const toOwner = (error: unknown): unknown =>
  error instanceof ImageError && isOfOwner(error)
    ? new UnusableImageError(error.message, { cause: error })
    : error;
