import { access, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keepImage, type MakeImageFile, removeImage, syncFolder, toImagePath } from '../image-file.ts';
import type { OnProgress } from '../progress.ts';
import type { BaseContents } from './contents.ts';
import type { BaseImage, ImageManifest } from './manifest.ts';
import { toRecipeDigest } from './recipe.ts';

/** The description of a base image that is a file; the file itself is named by its digest. */
interface FileManifest extends ImageManifest {
  /** The name of the file. */
  image: string;
}

/** The beginning of the names of what sandboxes make of incomplete images. */
export const completingPrefix = '.completing-';

const toManifestPath = (imagesDir: string, recipe: string): string => join(imagesDir, `base-${recipe}.json`);

/** The base image of a recipe, when it is there with its description. */
export async function findBaseFile(imagesDir: string, recipe: string): Promise<BaseImage | undefined> {
  try {
    const text = await readFile(toManifestPath(imagesDir, recipe), 'utf8');
    const { recipe: itsRecipe, image, missing } = JSON.parse(text) as FileManifest;
    if (itsRecipe !== recipe || !/^sha256:[0-9a-f]{64}$/.test(image)) return undefined;
    const rootfs = toImagePath(imagesDir, image, 'file');
    await access(rootfs);
    return { rootfs, digest: image, missing };
  } catch (error) {
    // Missing or damaged: the caller makes the image again.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether the base template is there as a file, with its description, and complete. */
export const hasBaseFile = async ({
  imagesDir,
  ...recipe
}: {
  imagesDir: string;
  contents: BaseContents;
  registryImage?: string | undefined;
}): Promise<boolean> => {
  const found = await findBaseFile(imagesDir, toRecipeDigest(recipe));
  return found !== undefined && found.missing.length === 0;
};

/** Makes the file of a finished tree, then its description. Durable when it resolves. */
export async function publishBaseFile(options: {
  imagesDir: string;
  workDir: string;
  /** The folder whose `rootfs` is the tree. */
  tree: string;
  manifest: ImageManifest;
  makeFile: MakeImageFile;
  onProgress: OnProgress;
  signal?: AbortSignal | undefined;
}): Promise<BaseImage> {
  const { imagesDir, workDir, tree, manifest, makeFile, onProgress, signal } = options;
  onProgress({ phase: 'finish', message: 'writing the file system of the image', fraction: 0.97 });
  const file = join(workDir, 'image.ext4');
  const { digest } = await makeFile({ folder: tree, path: file, signal });
  const base = await describeBaseFile(file, { ...manifest, image: digest }, { imagesDir, workDir });
  if (manifest.missing.length === 0)
    onProgress({ phase: 'finish', message: 'the base image is ready', fraction: 1 });
  return base;
}

/** Moves a file to its place, then writes its description. Durable when it resolves. */
async function describeBaseFile(
  file: string,
  manifest: FileManifest,
  { imagesDir, workDir }: { imagesDir: string; workDir: string },
): Promise<BaseImage> {
  const { image: digest, missing } = manifest;
  const rootfs = await keepImage(file, { folder: imagesDir, digest });
  const next = join(workDir, 'manifest.json');
  await writeFile(next, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o644, flush: true });
  await rename(next, toManifestPath(imagesDir, manifest.recipe));
  await syncFolder(imagesDir);
  return { rootfs, digest, missing };
}

/** Replaces an incomplete image by the file that was made of it, and removes it. */
export async function replaceBaseFile(
  file: string,
  { digest, ...options }: { imagesDir: string; workDir: string; recipe: string; digest: string },
): Promise<BaseImage> {
  const { imagesDir, recipe } = options;
  const manifest = JSON.parse(await readFile(toManifestPath(imagesDir, recipe), 'utf8')) as FileManifest;
  const base = await describeBaseFile(file, { ...manifest, image: digest, missing: [] }, options);
  if (manifest.image !== digest) await removeImage(imagesDir, manifest.image);
  return base;
}
