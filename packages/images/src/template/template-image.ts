import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { loadImage } from '../archive/load-image.ts';
import { saveImage } from '../archive/save-image.ts';
import { prepareForSandboxes } from '../base/finish.ts';
import type { OnProgress } from '../base/progress.ts';
import { ImageError } from '../image-error.ts';
import { keepImageFile, listFolder, type MakeImageFile } from '../image-file.ts';
import { emptyConfig, type ImageConfig } from '../oci/image-config.ts';
import { pullImage, resolveImage } from '../oci/pull.ts';
import type { Reach } from '../oci/reach.ts';
import { isEmptyImage } from '../oci/reference.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';

/** What the file system of a folder can take beside what it keeps in reserve. */
export type ReadSpareRoom = (folder: string) => { sizeBytes: number; entryCount: number };

export interface TemplateImageOptions {
  /** The folder of all images of templates; made when missing. */
  folder: string;
  source: TemplateSource;
  makeFile: MakeImageFile;
  readSpareRoom: ReadSpareRoom;
  onProgress: OnProgress;
  signal?: AbortSignal | undefined;
}

interface RegistrySource {
  kind: 'registry';
  /** OCI reference of the image; `scratch` for the empty one. */
  reference: string;
  credentials?: RegistryCredentials | undefined;
  /** Sends the requests to registries. */
  reach: Reach;
}

/** The archive is the absolute path of one of an image. */
export type TemplateSource = RegistrySource | { kind: 'archive'; archive: string };

export interface TemplateImage {
  /** Absolute path of the file. It is never written to from here on. */
  path: string;
  /** Of the file: `sha256:` and 64 hex digits. */
  digest: string;
  /** The space that it takes. */
  sizeBytes: number;
  config: ImageConfig;
  /** As `findOrigin` returned it for the reference at the time of the pull; undefined for an archive. */
  origin: string | undefined;
}

/**
 * Raise it with every change of what `makeTemplateImage` adds to an image or reads of its config, so that images of an older one are
 * made anew.
 */
const recipeVersion = 2;

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

const buildPrefix = '.building-';

/** The path of a file that another process makes in the folder and `keepImageFile` moves to its place. */
export const toUnfinishedFile = (folder: string, name: string): string =>
  join(folder, `${buildPrefix}${name}.ext4`);

/** The path of a folder that another process fills, as above. */
export const toUnfinishedFolder = (folder: string, name: string): string =>
  join(folder, `${buildPrefix}${name}`);

/** Makes the folder, and removes what killed processes have left in it: nothing may be in progress there but `spared`. */
export async function sweepTemplateImages(folder: string, spared: readonly string[] = []): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await listFolder(folder))
    if (name.startsWith(buildPrefix) && !spared.includes(join(folder, name)))
      await rm(join(folder, name), { recursive: true, force: true });
}

/** Throws `no_room` where the host has too little of it in that folder. */
const toRequireRoom =
  (folder: string, readSpareRoom: ReadSpareRoom) =>
  (sizeBytes: number): void => {
    const spare = readSpareRoom(folder);
    if (sizeBytes > spare.sizeBytes || spare.entryCount < 1)
      throw new ImageError('no_room', 'the host has too little room for the image');
  };

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
 * Takes an image from a registry or an archive and makes of it the file system of a template, with what every sandbox needs added. On
 * the medium when it resolves. Rejects with ImageError, or the reason of `signal`, and leaves nothing then. Needs root.
 */
export async function makeTemplateImage(options: TemplateImageOptions): Promise<TemplateImage> {
  const { source, makeFile, readSpareRoom, onProgress, signal } = options;
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const requireRoom = toRequireRoom(folder, readSpareRoom);
  requireRoom(1);
  const workDir = await mkdtemp(join(folder, buildPrefix));
  try {
    // Alone in its folder, whose content becomes that of the file system.
    const tree = join(workDir, 'tree');
    const rootfs = join(tree, 'rootfs');
    await mkdir(tree);
    const into = { rootfs, onProgress, requireRoom, signal };
    const { config, origin } =
      source.kind === 'registry'
        ? await pullFrom(source, into)
        : {
            ...(await loadImage({ ...source, scratch: join(workDir, 'archive'), ...into })),
            origin: undefined,
          };
    await prepareForSandboxes(rootfs);
    onProgress({ phase: 'finish', message: 'writing the file system of the image', fraction: 0.9 });
    const file = join(workDir, 'image.ext4');
    const { digest, sizeBytes } = await makeFile({ folder: tree, path: file, signal, requireRoom });
    const path = await keepImageFile(file, { folder, digest });
    return { path, digest, sizeBytes, config, origin };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

const pullFrom = async (
  source: RegistrySource,
  into: Omit<Parameters<typeof pullImage>[0], keyof RegistrySource>,
): Promise<{ config: ImageConfig; origin: string }> => {
  if (isEmptyImage(source.reference)) {
    await mkdir(into.rootfs);
    return { config: emptyConfig(), origin: toOrigin(source.reference) };
  }
  const { config, manifestDigest } = await pullImage({ ...source, ...into });
  return { config, origin: toOrigin(manifestDigest) };
};
