import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { saveImage } from '../archive/save-image.ts';
import {
  type ImageForm,
  imageSuffix,
  keepImage,
  listFolder,
  type MakeImageFile,
  type SealImageFolder,
  unfinishedPrefix,
} from '../image-file.ts';
import type { ImageTree, OpenTree } from '../image-tree.ts';
import { emptyConfig, type ImageConfig } from '../oci/image-config.ts';
import { createKeptLayers, type KeptLayers, type KeptLayersOptions } from '../oci/kept-layers.ts';
import { pullImage, resolveImage } from '../oci/pull.ts';
import type { Reach } from '../oci/reach.ts';
import { isEmptyImage } from '../oci/reference.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';
import type { OnProgress } from '../progress.ts';
import { type ReadSpareRoom, type RequireRoom, toRequireRoom } from '../room.ts';
import { removeTree } from '../run-program.ts';

export interface TemplateImageOptions {
  /** The folder of all images of templates; made when missing. */
  folder: string;
  source: TemplateSource;
  /** Undefined: none are kept. */
  layers?: LayerFolder | undefined;
  target: ImageTarget;
  openTree: OpenTree;
  readSpareRoom: ReadSpareRoom;
  onProgress: OnProgress;
  signal?: AbortSignal | undefined;
}

/** The form of an image, and what makes it: a folder has the owners of its files raised by `ownerOffset`. */
export type ImageTarget =
  | { form: 'file'; makeFile: MakeImageFile }
  | { form: 'folder'; sealFolder: SealImageFolder; ownerOffset: number };

interface RegistrySource {
  kind: 'registry';
  /** OCI reference of the image; `scratch` for the empty one. */
  reference: string;
  credentials?: RegistryCredentials | undefined;
  /** Sends the requests to registries. */
  reach: Reach;
}

/** Where the layers of registries are kept for later pulls. */
export interface LayerFolder extends Pick<KeptLayersOptions, 'refresh' | 'flights'> {
  /** Made when missing. */
  folder: string;
}

/** The archive is an absolute path, and the image the name or the digest of one in it; by default it must have one alone. */
export type TemplateSource =
  | RegistrySource
  | { kind: 'archive'; archive: string; image?: string | undefined };

export interface TemplateImage {
  /** Absolute path. It is never written to from here on. */
  path: string;
  /** The digest of the file, or of the entries of the folder: `sha256:` and 64 hex digits. */
  digest: string;
  /** The space that it takes. */
  sizeBytes: number;
  config: ImageConfig;
  /** What `findOrigin` returned for the reference at the time of the pull; undefined for an archive. */
  origin: string | undefined;
}

/**
 * Raise it with every change of what `makeTemplateImage` adds to an image or reads of its config, so that images of an older one are
 * made anew.
 */
const recipeVersion = 6;

const toOrigin = (manifestDigest: string): string => `${manifestDigest} ${recipeVersion}`;

/**
 * Finds out what `makeTemplateImage` would make now, without making it: equal for equal images. Rejects with ImageError or the
 * reason of `signal`.
 */
export async function findOrigin(
  options: Omit<RegistrySource, 'kind'> & Pick<TemplateImageOptions, 'signal'>,
): Promise<string> {
  const { reference } = options;
  return toOrigin(isEmptyImage(reference) ? reference : await resolveImage(options));
}

/** The path of an image that another process makes in the folder and `keepImage` moves to its place. */
export const toUnfinished = (folder: string, name: string, form: ImageForm): string =>
  join(folder, `${unfinishedPrefix}${name}${imageSuffix[form]}`);

/** Makes the folder, and removes what killed processes have left in it: nothing may be in progress there but `spared`. */
export async function sweepTemplateImages(folder: string, spared: readonly string[] = []): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await listFolder(folder))
    if (name.startsWith(unfinishedPrefix) && !spared.includes(join(folder, name)))
      await rm(join(folder, name), { recursive: true, force: true });
}

/**
 * Writes an image file as an OCI image layout into `path`, a new folder in that of all images; the caller removes it.
 * Rejects as `saveImage` does.
 */
export async function saveTemplateImage(
  path: string,
  {
    readSpareRoom,
    ...image
  }: Omit<Parameters<typeof saveImage>[0], 'folder' | 'requireRoom'> & { readSpareRoom: ReadSpareRoom },
): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await saveImage({ ...image, folder: path, requireRoom: toRequireRoom(folder, readSpareRoom) });
}

/**
 * Takes an image from a registry or an archive and makes of it the file system of a template, with what every sandbox needs added. The
 * tree is the same for the same image. On the medium when it resolves. Rejects with ImageError, or the reason of `signal`, and leaves
 * nothing then. Needs root.
 */
export async function makeTemplateImage(options: TemplateImageOptions): Promise<TemplateImage> {
  const { source, target, openTree, readSpareRoom, onProgress, signal } = options;
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const requireRoom = toRequireRoom(folder, readSpareRoom);
  requireRoom(1);
  const workDir = await mkdtemp(join(folder, unfinishedPrefix));
  let removing: Promise<void> | undefined;
  let keptLayers: KeptLayers | undefined;
  try {
    if (options.layers)
      keptLayers = await createKeptLayers(options.layers.folder, { ...options.layers, requireRoom });
    // Alone in its folder, whose content becomes that of the file system.
    const folderOfTree = join(workDir, 'tree');
    const rootfs = join(folderOfTree, 'rootfs');
    await mkdir(folderOfTree);
    const { mtimeMs: sinceMs } = await stat(folderOfTree);
    const tree = openTree({ rootfs, roomFolder: folder, signal });
    let made: { config: ImageConfig; origin: string | undefined };
    try {
      made =
        source.kind === 'registry'
          ? await pullFrom(source, { tree, onProgress, keptLayers, signal })
          : await loadFrom(source, { tree, scratch: join(workDir, 'archive'), onProgress });
      const ownerOffset = target.form === 'folder' ? target.ownerOffset : 0;
      const { user, workdir } = made.config;
      await tree.prepare({ config: { user, workdir }, sinceMs, ownerOffset });
    } finally {
      await tree.close();
    }
    onProgress({ phase: 'finish', message: 'writing the file system of the image', fraction: 0.9 });
    const image = join(workDir, `image${imageSuffix[target.form]}`);
    const onCopied = (): void => {
      removing = removeQuietly(folderOfTree);
    };
    const { digest, sizeBytes } = await makeImage(target, {
      ...{ folder: folderOfTree, image, requireRoom, onCopied, signal },
    });
    const path = await keepImage(image, { folder, digest });
    return { path, digest, sizeBytes, ...made };
  } finally {
    await keptLayers?.finish();
    await removing;
    await removeTree(workDir);
  }
}

const removeQuietly = async (path: string): Promise<void> => {
  try {
    await removeTree(path);
  } catch {
    // The caller removes it.
  }
};

/** Makes the image of the tree in `rootfs` of `folder`, which may be moved there. */
const makeImage = async (
  target: ImageTarget,
  {
    folder,
    image,
    requireRoom,
    onCopied,
    signal,
  }: {
    folder: string;
    image: string;
    requireRoom: RequireRoom;
    /** The tree is not read any more. */
    onCopied: () => void;
    signal: AbortSignal | undefined;
  },
): Promise<{ digest: string; sizeBytes: number }> => {
  if (target.form === 'file') return target.makeFile({ folder, path: image, signal, requireRoom, onCopied });
  await rename(join(folder, 'rootfs'), image);
  return target.sealFolder({ folder: image, signal });
};

const pullFrom = async (
  source: RegistrySource,
  into: Omit<Parameters<typeof pullImage>[0], keyof RegistrySource>,
): Promise<{ config: ImageConfig; origin: string }> => {
  if (isEmptyImage(source.reference)) {
    await into.tree.begin();
    return { config: emptyConfig(), origin: toOrigin(source.reference) };
  }
  const { config, manifestDigest } = await pullImage({ ...source, ...into });
  return { config, origin: toOrigin(manifestDigest) };
};

const loadFrom = async (
  { archive, image }: Extract<TemplateSource, { kind: 'archive' }>,
  { tree, scratch, onProgress }: { tree: ImageTree; scratch: string; onProgress: OnProgress },
): Promise<{ config: ImageConfig; origin: undefined }> => {
  const { config } = await tree.load({ archive, image, scratch }, { onProgress });
  return { config, origin: undefined };
};
