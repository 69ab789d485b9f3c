import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createClient, type Transport } from '@connectrpc/connect';
import { type PackedLayout, packLayout } from '../archive/pack-layout.ts';
import type { SavedConfig } from '../archive/save-image.ts';
import { ImagesService, type MakeTemplateImageRequestSchema } from '../gen/skerry/images/v1/images_pb.ts';
import { type ImageForm, toImagePath } from '../image-file.ts';
import type { ImageConfig } from '../oci/image-config.ts';
import { type KeptLayer, listLayers, removeLayer, sweepLayers } from '../oci/kept-layers.ts';
import { parseReference } from '../oci/reference.ts';
import { toUnfinished } from '../template/template-image.ts';
import { fromConnectError } from './failure.ts';
import { type BuildCredentials, toWireCredentials } from './open-credentials.ts';
import { readProgress } from './read-progress.ts';

interface MadeImage extends ImageConfig {
  digest: string;
  sizeBytes: number;
}

/** The images of templates, in one folder of the process that the transport leads to. */
export interface TemplateImages {
  /** Throws ImageError for what is no image reference. */
  check(reference: string): void;
  /**
   * Makes the image of a template from one of a registry. Rejects with ImageError, the reason of the signal, or what the
   * transport rejects with; the other process may still be cleaning up then.
   */
  make(options: {
    reference: string;
    credentials?: BuildCredentials | undefined;
    /** Whether all layers are requested from the registry, also those that are kept. */
    refresh: boolean;
    onMessage: (message: string) => void;
    signal: AbortSignal;
  }): Promise<MadeImage & { origin: string }>;
  /** The origin that `make` would report now, without making the image. Rejects as `make`. */
  findOrigin(options: {
    reference: string;
    credentials?: BuildCredentials | undefined;
    signal: AbortSignal;
  }): Promise<string>;
  /** Makes the image of a template from one in the archive at a path. Rejects as `make` does. */
  load(options: {
    archive: string;
    /** The name or the digest of one in it; by default it must have one alone. */
    image?: string | undefined;
    onMessage: (message: string) => void;
    signal: AbortSignal;
  }): Promise<MadeImage>;
  /**
   * Packs an image file as an OCI image layout with that config and that name. Nothing is left when the archive has been
   * read or destroyed. Rejects as `make` does.
   */
  save(options: {
    image: string;
    config: SavedConfig;
    name: string;
    tag: string;
    signal: AbortSignal;
  }): Promise<PackedLayout>;
  /** Where to write a new image, which `keep` then moves to its place. */
  toUnfinished(name: string): string;
  keep(options: { file: string; digest: string }): Promise<void>;
  /** The path of an image. */
  toPath(digest: string): string;
  /** The digests of all images. Makes the folder, and removes the remains of killed processes; nothing may be in progress. */
  list(): Promise<string[]>;
  /** Idempotent. */
  remove(digest: string): Promise<void>;
  /** The layers that are kept for later pulls, in any order. */
  listLayers(): Promise<KeptLayer[]>;
  /** Idempotent. A pull that reads it goes on. */
  removeLayer(digest: string): Promise<void>;
}

export interface TemplateImagesOptions {
  /** An absolute path; it is made when missing. */
  folder: string;
  /** An absolute path on this host: the folder in which layers are kept. It is made when missing. By default none are kept. */
  layersFolder?: string | undefined;
  /** Whether pulls keep their layers, where there is a folder for them. */
  keepsLayers: boolean;
  /** Whether images are files; otherwise they are folders. */
  asFile: boolean;
  /** How much higher the owners of files in a folder are than in the image. */
  ownerOffset?: number | undefined;
  /** The authorities, `host[:port]`, that need no public address. */
  allowedRegistries: readonly string[];
  /** URL of the API of ECR at any address, by default that of the region of each access key. */
  ecrEndpoint?: string | undefined;
}

/** Nothing is done before the first call. */
export const createTemplateImages = (
  transport: Transport,
  {
    folder,
    layersFolder,
    keepsLayers,
    asFile,
    ownerOffset = 0,
    allowedRegistries,
    ecrEndpoint,
  }: TemplateImagesOptions,
): TemplateImages => {
  const client = createClient(ImagesService, transport);
  const form: ImageForm = asFile ? 'file' : 'folder';
  const access = {
    allowedRegistries: [...allowedRegistries],
    ...(ecrEndpoint !== undefined && { ecrEndpoint }),
  };
  /** The folders of layouts that are read, which the removal of remains spares. */
  const saving = new Set<string>();

  const make = async (
    source: Pick<
      MessageInitShape<typeof MakeTemplateImageRequestSchema>,
      'reference' | 'credentials' | 'archive' | 'archivedImage' | 'layersFolder' | 'refreshLayers'
    >,
    { onMessage, signal }: { onMessage: (message: string) => void; signal: AbortSignal },
  ) => {
    let last = '';
    const onProgress = ({ message }: { message: string }): void => {
      // One part of the work reports more than once.
      if (message !== last) onMessage(message);
      last = message;
    };
    const request = { folder, asFile, ownerOffset, ...access, ...source };
    const messages = client.makeTemplateImage(request, { signal });
    const image = await readProgress(messages, { onProgress, signal });
    const { digest, sizeBytes, origin } = image;
    const { env, user, workdir, entrypoint, command, healthcheck, onbuild, exposedPorts } = image;
    const config = { env, user, workdir, entrypoint, command, healthcheck, onbuild, exposedPorts };
    return { digest, sizeBytes: Number(sizeBytes), ...config, origin };
  };

  return {
    check: (reference) => void parseReference(reference),
    make: ({ reference, credentials, refresh, ...options }) =>
      make(
        {
          reference,
          ...(credentials && { credentials: toWireCredentials(credentials) }),
          ...(keepsLayers && layersFolder !== undefined && { layersFolder, refreshLayers: refresh }),
        },
        options,
      ),
    load: ({ archive, image, ...options }) =>
      make({ archive, ...(image !== undefined && { archivedImage: image }) }, options),
    save: async ({ signal, config, ...image }) => {
      const path = toUnfinished(folder, randomUUID(), 'folder');
      const remove = async (): Promise<void> => {
        try {
          await rm(path, { recursive: true, force: true });
        } finally {
          saving.delete(path);
        }
      };
      saving.add(path);
      try {
        await client.saveTemplateImage({ path, ...config, ...image }, { signal });
        const packed = await packLayout(path);
        // What cannot be removed now is removed at the next start.
        packed.archive.once('close', () => void remove().catch(() => undefined));
        return packed;
      } catch (error) {
        // After an abort the helper may still write there for a moment: the next list removes what that leaves.
        await remove().catch(() => undefined);
        signal.throwIfAborted();
        throw fromConnectError(error);
      }
    },
    findOrigin: async ({ reference, credentials, signal }) => {
      const request = {
        ...{ reference, ...access },
        ...(credentials && { credentials: toWireCredentials(credentials) }),
      };
      try {
        return (await client.resolveTemplateImage(request, { signal })).origin;
      } catch (error) {
        signal.throwIfAborted();
        throw fromConnectError(error);
      }
    },
    toUnfinished: (name) => toUnfinished(folder, name, form),
    keep: async ({ file, digest }) => {
      await client.keepTemplateImage({ folder, file, digest });
    },
    toPath: (digest) => toImagePath(folder, digest, form),
    list: async () => {
      if (layersFolder !== undefined) await sweepLayers(layersFolder);
      const digests: string[] = [];
      for await (const { digest } of client.listTemplateImages({ folder, spared: [...saving] }))
        digests.push(digest);
      return digests;
    },
    remove: async (digest) => {
      await client.removeTemplateImage({ folder, digest });
    },
    listLayers: async () => (layersFolder === undefined ? [] : listLayers(layersFolder)),
    removeLayer: async (digest) => {
      if (layersFolder !== undefined) await removeLayer(layersFolder, digest);
    },
  };
};
