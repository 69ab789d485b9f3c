import { isAbsolute } from 'node:path';
import type { ConnectRouter } from '@connectrpc/connect';
import { type BaseImageOptions, ensureBaseImage } from '../base/base-image.ts';
import {
  type EnsureBaseImageRequest,
  ImagesService,
  type MakeTemplateImageRequest,
} from '../gen/skerry/images/v1/images_pb.ts';
import { keepImageFile, listImageFiles, type MakeImageFile, removeImageFile } from '../image-file.ts';
import { createPublicReach } from '../oci/reach.ts';
import { makeTemplateImage, type ReadSpareRoom, sweepTemplateImages } from '../template/template-image.ts';
import { reportProgress } from './report-progress.ts';

/** What the packages beside this one do for it. */
export interface ImageTools extends Pick<BaseImageOptions, 'withFolderLock'> {
  makeImageFile: MakeImageFile;
  readSpareRoom: ReadSpareRoom;
  /** Whether an address is on the public internet. */
  isPublicAddress: (address: string) => boolean;
}

/** Adds the making of images to the services of a router. */
export const addImagesService = (router: ConnectRouter, tools: ImageTools): void => {
  router.service(ImagesService, {
    ensureBaseImage: (request, { signal }) => ensureBase(request, tools, signal),
    makeTemplateImage: (request, { signal }) => makeTemplate(request, tools, signal),
    keepTemplateImage: async ({ folder, file, digest }) => ({
      path: await keepImageFile(requireAbsolute(file), { folder: requireAbsolute(folder), digest }),
    }),
    listTemplateImages: async function* ({ folder }) {
      await sweepTemplateImages(requireAbsolute(folder));
      for (const digest of await listImageFiles(folder)) yield { digest };
    },
    removeTemplateImage: async ({ folder, digest }) => {
      await removeImageFile(requireAbsolute(folder), digest);
      return {};
    },
  });
};

const ensureBase = (
  { imagesDir, registryImage, ownerOffset, asFile }: EnsureBaseImageRequest,
  { withFolderLock, makeImageFile }: ImageTools,
  signal: AbortSignal,
) =>
  reportProgress(async (onProgress) => {
    const { rootfs, digest } = await ensureBaseImage({
      imagesDir: requireAbsolute(imagesDir),
      registryImage,
      ownerOffset,
      makeFile: asFile ? makeImageFile : undefined,
      withFolderLock,
      onProgress,
      signal,
    });
    return { rootfs, digest };
  });

const makeTemplate = (
  { folder, reference, credentials, allowedRegistries }: MakeTemplateImageRequest,
  { makeImageFile, readSpareRoom, isPublicAddress }: ImageTools,
  signal: AbortSignal,
) =>
  reportProgress(async (onProgress) => {
    const { path, digest, sizeBytes, config } = await makeTemplateImage({
      folder: requireAbsolute(folder),
      reference,
      credentials: credentials && { username: credentials.username, password: credentials.password },
      reach: createPublicReach({ isPublicAddress, allowed: allowedRegistries }),
      makeFile: makeImageFile,
      readSpareRoom,
      onProgress,
      signal,
    });
    return { path, digest, sizeBytes: BigInt(sizeBytes), ...config };
  });

function requireAbsolute(path: string): string {
  if (isAbsolute(path)) return path;
  throw new Error(`a path must be absolute, got ${path}`);
}
