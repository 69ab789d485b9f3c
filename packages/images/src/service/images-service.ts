import { isAbsolute } from 'node:path';
import type { ConnectRouter } from '@connectrpc/connect';
import { type BaseImageOptions, ensureBaseImage } from '../base/base-image.ts';
import { completeBaseImage } from '../base/complete-base-image.ts';
import { type BaseContents, baseContents } from '../base/contents.ts';
import {
  type EnsureBaseImageRequest,
  ImagesService,
  type MakeTemplateImageRequest,
  type ResolveTemplateImageRequest,
} from '../gen/skerry/images/v1/images_pb.ts';
import {
  keepImage,
  listImages,
  type MakeImageFile,
  removeImage,
  type SealImageFolder,
} from '../image-file.ts';
import type { OpenTree } from '../image-tree.ts';
import { createLayerFlights, type LayerFlights } from '../oci/layer-flights.ts';
import { createPublicReach } from '../oci/reach.ts';
import type { ReadSpareRoom } from '../room.ts';
import {
  findOrigin,
  makeTemplateImage,
  saveTemplateImage,
  sweepTemplateImages,
} from '../template/template-image.ts';
import { startUnpacker } from '../unpacker/start-unpacker.ts';
import { toConnectError } from './failure.ts';
import { openCredentials } from './open-credentials.ts';
import { reportProgress } from './report-progress.ts';

/** What the packages beside this one do for it. */
export interface ImageTools extends Pick<BaseImageOptions, 'withFolderLock'> {
  makeImageFile: MakeImageFile;
  sealImageFolder: SealImageFolder;
  readSpareRoom: ReadSpareRoom;
  /** The absolute path of the program that calls `runUnpacker`. */
  unpackerProgram: string;
  /** Whether an address is on the public internet. */
  isPublicAddress: (address: string) => boolean;
}

/** Adds the making of images to the services of a router. */
export const addImagesService = (router: ConnectRouter, tools: ImageTools): void => {
  const flights = createLayerFlights();
  const openTree: OpenTree = (options) => startUnpacker({ ...options, program: tools.unpackerProgram });
  router.service(ImagesService, {
    ensureBaseImage: (request, { signal }) => ensureBase(request, { ...tools, openTree }, signal),
    completeBaseImage: async ({ imagesDir, contents, registryImage, asFile: isFile, image, digest }) => {
      const base = await completeBaseImage({
        ...{ imagesDir: requireAbsolute(imagesDir), contents: requireContents(contents), registryImage },
        ...{ image: requireAbsolute(image), digest, isFile },
        withFolderLock: tools.withFolderLock,
      });
      return { image: { ...base, missing: [...base.missing] } };
    },
    makeTemplateImage: (request, { signal }) =>
      makeTemplate(request, { ...tools, flights, openTree }, signal),
    saveTemplateImage: async ({ path, image, env, user, workdir, name, tag }, { signal }) => {
      await saveTemplateImage(requireAbsolute(path), {
        ...{ image: requireAbsolute(image), config: { env, user, workdir }, as: { name, tag }, signal },
        readSpareRoom: tools.readSpareRoom,
      }).catch((error: unknown) => {
        throw toConnectError(error);
      });
      return {};
    },
    resolveTemplateImage: (request, { signal }) => resolveTemplate(request, tools, signal),
    keepTemplateImage: async ({ folder, file, digest }) => ({
      path: await keepImage(requireAbsolute(file), { folder: requireAbsolute(folder), digest }),
    }),
    listTemplateImages: async function* ({ folder, spared }) {
      await sweepTemplateImages(requireAbsolute(folder), spared);
      for (const digest of await listImages(folder)) yield { digest };
    },
    removeTemplateImage: async ({ folder, digest }) => {
      await removeImage(requireAbsolute(folder), digest);
      return {};
    },
  });
};

const ensureBase = (
  { imagesDir, contents, npm, registryImage, ownerOffset, asFile }: EnsureBaseImageRequest,
  { withFolderLock, makeImageFile, openTree }: ImageTools & { openTree: OpenTree },
  signal: AbortSignal,
) =>
  reportProgress(async (onProgress) => {
    const { rootfs, digest, missing } = await ensureBaseImage({
      imagesDir: requireAbsolute(imagesDir),
      contents: requireContents(contents),
      npm: npm && { program: requireAbsolute(npm.program), env: npm.env },
      registryImage,
      ownerOffset,
      makeFile: asFile ? makeImageFile : undefined,
      withFolderLock,
      openTree,
      onProgress,
      signal,
    });
    return { rootfs, digest, missing: [...missing] };
  });

const makeTemplate = (
  {
    folder,
    asFile,
    ownerOffset,
    archive,
    archivedImage,
    layersFolder,
    refreshLayers,
    ...request
  }: MakeTemplateImageRequest,
  tools: ImageTools & { flights: LayerFlights; openTree: OpenTree },
  signal: AbortSignal,
) =>
  reportProgress(async (onProgress) => {
    const { path, digest, sizeBytes, config, origin } = await makeTemplateImage({
      folder: requireAbsolute(folder),
      source:
        archive === undefined
          ? { kind: 'registry', ...(await openRegistry(request, tools, signal)) }
          : { kind: 'archive', archive: requireAbsolute(archive), image: archivedImage },
      layers:
        layersFolder === undefined
          ? undefined
          : { folder: requireAbsolute(layersFolder), refresh: refreshLayers, flights: tools.flights },
      target: asFile
        ? { form: 'file', makeFile: tools.makeImageFile }
        : { form: 'folder', sealFolder: tools.sealImageFolder, ownerOffset },
      openTree: tools.openTree,
      readSpareRoom: tools.readSpareRoom,
      onProgress,
      signal,
    });
    return { path, digest, sizeBytes: BigInt(sizeBytes), ...config, origin: origin ?? '' };
  });

const resolveTemplate = async (
  request: ResolveTemplateImageRequest,
  tools: ImageTools,
  signal: AbortSignal,
) => {
  try {
    return { origin: await findOrigin({ ...(await openRegistry(request, tools, signal)), signal }) };
  } catch (error) {
    throw toConnectError(error);
  }
};

/** How a registry is reached for an image. */
const openRegistry = async (
  {
    reference,
    credentials,
    allowedRegistries: allowed,
    ecrEndpoint: endpoint,
  }: Pick<ResolveTemplateImageRequest, 'reference' | 'credentials' | 'allowedRegistries' | 'ecrEndpoint'>,
  { isPublicAddress }: ImageTools,
  signal: AbortSignal,
) => ({
  reference,
  credentials: await openCredentials(credentials, { isPublicAddress, allowed, endpoint, signal }),
  reach: createPublicReach({ isPublicAddress, allowed }),
});

function requireContents(name: string): BaseContents {
  const contents = baseContents.find((known) => known === name);
  if (contents) return contents;
  throw new Error(`a base image has no contents ${JSON.stringify(name)}`);
}

function requireAbsolute(path: string): string {
  if (isAbsolute(path)) return path;
  throw new Error(`a path must be absolute, got ${path}`);
}
