import { mkdir, mkdtemp, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { unfinishedPrefix } from '../image-file.ts';
import { removeTree } from '../run-program.ts';
import { replaceBaseFile } from './base-file.ts';
import { replaceFolder } from './base-folder.ts';
import type { BaseImageOptions } from './base-image.ts';
import { type BaseImage, readManifest } from './manifest.ts';
import { toRecipeDigest } from './recipe.ts';

/** The image that a sandbox has made of an incomplete one. */
export interface CompletedBase
  extends Pick<BaseImageOptions, 'imagesDir' | 'contents' | 'registryImage' | 'withFolderLock'> {
  /** The absolute path of a file, or of a folder, on the file system of `imagesDir`. It is moved. */
  image: string;
  digest: string;
  isFile: boolean;
}

/** Puts a completed image in the place of the incomplete one. Durable when it resolves. */
export async function completeBaseImage(options: CompletedBase): Promise<BaseImage> {
  const { image, digest, isFile, withFolderLock } = options;
  const imagesDir = resolve(options.imagesDir);
  const recipe = toRecipeDigest(options);
  const replace = async (): Promise<BaseImage> => {
    const workDir = await mkdtemp(join(imagesDir, unfinishedPrefix));
    try {
      if (isFile) return await replaceBaseFile(image, { imagesDir, workDir, recipe, digest });
      const target = join(imagesDir, `base-${recipe}`);
      const earlier = await readManifest(target, recipe);
      if (earlier === undefined) throw new Error(`there is no image in ${target} to complete`);
      const tree = join(workDir, 'image');
      await mkdir(tree, { mode: 0o700 });
      await rename(image, join(tree, 'rootfs'));
      return await replaceFolder({ tree, target, manifest: { ...earlier, digest, missing: [] } });
    } finally {
      await removeTree(workDir);
    }
  };
  return withFolderLock(imagesDir, replace, { waitMs: Number.POSITIVE_INFINITY, onWait: () => undefined });
}
