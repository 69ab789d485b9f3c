import { mkdir, mkdtemp, readdir, rename, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ImageError } from '../image-error.ts';
import type { MakeImageFile } from '../image-file.ts';
import type { OpenTree } from '../image-tree.ts';
import { pullImage } from '../oci/pull.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';
import type { OnProgress } from '../progress.ts';
import { removeTree } from '../run-program.ts';
import { addNode, type FetchedNode, fetchNode } from './add-node.ts';
import { type Distribution, toDefaultSources } from './apt-sources.ts';
import { completingPrefix, findBaseFile, publishBaseFile } from './base-file.ts';
import { replaceFolder, toBase } from './base-folder.ts';
import type { BaseContents } from './contents.ts';
import { buildFromPackages } from './debootstrap.ts';
import { finishRootfs } from './finish.ts';
import { type BaseImage, type ImageManifest, type ImageSource, readManifest } from './manifest.ts';
import type { NpmClient } from './npm-client.ts';
import { baseRecipes, toRecipeDigest } from './recipe.ts';
import { shiftOwners } from './shift-owners.ts';
import { digestTree, type TreeDigest } from './tree-digest.ts';

export interface BaseImageOptions {
  /** Made when missing; may be shared by several processes. Needs about 300 MB, or 800 MB for the full contents. */
  imagesDir: string;
  contents: BaseContents;
  /** The full contents need it. */
  npm?: NpmClient | undefined;
  onProgress: OnProgress;
  /**
   * Calls `work` while no other process of this host works under the lock of the same folder; `onWait` when another one
   * does.
   */
  withFolderLock: <T>(
    folder: string,
    work: () => Promise<T>,
    wait: { waitMs: number; onWait: () => void; signal?: AbortSignal | undefined },
  ) => Promise<T>;
  /** What unpacks that of a registry. */
  openTree: OpenTree;
  /**
   * OCI reference of an image to start from, to which what it lacks is added. Without it, or when its registry does not answer: the distribution's
   * packages.
   */
  registryImage?: string | undefined;
  credentials?: RegistryCredentials | undefined;
  /**
   * Makes the base template a file system of one file, for a runtime that can mount it. Without, it is a folder.
   */
  makeFile?: MakeImageFile | undefined;
  /** Added to the ids of all owners in a folder: the host's id for root of an image. Default 0. */
  ownerOffset?: number | undefined;
  signal?: AbortSignal | undefined;
}

type BuildOptions = BaseImageOptions & { workDir: string };

const buildPrefix = '.building-';
/** A start completes an image in much less. */
const COMPLETING_MS = 24 * 60 * 60_000;

/**
 * Returns the base template, and makes it first when `imagesDir` does not contain it: once, for any number of
 * processes, as the others wait. On disk when it resolves. What a build leaves that was interrupted by SIGKILL is
 * removed by the next one. Needs root, of the host or of a user namespace. Rejects with ImageError or the reason of
 * `signal`, and leaves nothing then.
 */
export async function ensureBaseImage(options: BaseImageOptions): Promise<BaseImage> {
  const { onProgress, signal } = options;
  const imagesDir = resolve(options.imagesDir);
  const recipe = toRecipeDigest(options);
  const target = join(imagesDir, `base-${recipe}`);
  const find = async (): Promise<BaseImage | undefined> => {
    if (options.makeFile) return findBaseFile(imagesDir, recipe);
    const manifest = await readManifest(target, recipe);
    return manifest && toBase(target, manifest);
  };
  const existing = await find();
  if (existing) return existing;

  await mkdir(imagesDir, { recursive: true, mode: 0o700 });
  const makeUnlessMade = async (): Promise<BaseImage> => {
    const made = await find();
    if (made) return made;
    await removeLeftovers(imagesDir);
    // 0700: the image holds setuid programs, which no user of the host may reach.
    const workDir = await mkdtemp(join(imagesDir, buildPrefix));
    try {
      const { tree, manifest } = await makeTree({ workDir, recipe, options });
      return options.makeFile
        ? await publishBaseFile({
            ...options,
            imagesDir,
            workDir,
            tree,
            manifest,
            makeFile: options.makeFile,
          })
        : await publishFolder({ tree, target, manifest, options });
    } finally {
      await removeTree(workDir);
    }
  };
  return options.withFolderLock(imagesDir, makeUnlessMade, {
    waitMs: Number.POSITIVE_INFINITY,
    onWait: () => onProgress({ phase: 'wait', message: 'another process is making the base image' }),
    signal,
  });
}

/** A tree that is made, and what it consists of. */
interface Built {
  source: ImageSource;
  content: TreeDigest;
  missing: readonly string[];
}

async function build(rootfs: string, options: BuildOptions): Promise<Built> {
  const { onProgress, registryImage, signal } = options;
  if (registryImage !== undefined) {
    try {
      return await buildFromRegistry(registryImage, rootfs, options);
    } catch (error) {
      if (!(error instanceof ImageError) || error.code !== 'registry_unavailable') throw error;
      const message = `${error.message}: using the distribution's packages instead`;
      onProgress({ phase: 'install', message, fraction: 0 });
      await removeTree(rootfs);
    }
  }
  const { distribution, node } = await installAll(options);
  if (node) addNode(rootfs, node);
  await finishRootfs(rootfs, { aptSources: toDefaultSources(distribution) });
  onProgress(checking);
  return {
    source: { kind: 'packages', distribution: distribution.id, codename: distribution.codename },
    content: await digestTree(rootfs, { signal }),
    missing: [],
  };
}

async function buildFromRegistry(reference: string, rootfs: string, options: BuildOptions): Promise<Built> {
  const { workDir, contents, npm, credentials, openTree, onProgress, signal } = options;
  const recipe = baseRecipes[contents];
  const tree = openTree({ rootfs, roomFolder: workDir, signal });
  try {
    const { manifestDigest } = await pullImage({ reference, credentials, tree, onProgress, signal });
    const lack = await tree.inspectBase(contents);
    const missing = lack.packages;
    if (missing.length > 0 && !lack.hasApt)
      throw new ImageError('unsuitable_image', `the image has no apt to install ${missing.join(', ')}`);
    let node: FetchedNode | undefined;
    if (recipe.hasNode && !lack.hasNode) {
      onProgress({ phase: 'install', message: 'fetching Node.js and npm', fraction: 0.9 });
      node = await fetchNode({ workDir, npm, signal });
    }
    onProgress(checking);
    const content = await tree.finishBase({ node });
    return { source: { kind: 'registry', reference, manifestDigest }, content, missing };
  } finally {
    await tree.close();
  }
}

const checking = { phase: 'finish', message: 'checking and saving the image', fraction: 0.95 } as const;

/** Fetches Node.js while the packages of the distribution are installed. The failure of one ends the other. */
async function installAll({
  workDir,
  contents,
  npm,
  onProgress,
  signal,
}: BuildOptions): Promise<{ distribution: Distribution; node: FetchedNode | undefined }> {
  const recipe = baseRecipes[contents];
  const failing = new AbortController();
  const either = signal ? AbortSignal.any([signal, failing.signal]) : failing.signal;
  const work = [
    buildFromPackages({ recipe, workDir, onProgress, signal: either }),
    recipe.hasNode ? fetchNode({ workDir, npm, signal: either }) : Promise.resolve(undefined),
  ] as const;
  for (const part of work) part.catch((error: unknown) => failing.abort(error));
  // Nothing of the other may be under way when this rejects.
  await Promise.allSettled(work);
  const [distribution, node] = await Promise.all(work);
  return { distribution, node };
}

/** The folder of the base image's `rootfs`, with its description. */
async function makeTree({
  workDir,
  recipe,
  options,
}: {
  workDir: string;
  recipe: string;
  options: BaseImageOptions;
}): Promise<{ tree: string; manifest: ImageManifest }> {
  const { source, content, missing } = await build(join(workDir, 'rootfs'), { ...options, workDir });
  const tree = join(workDir, 'image');
  await mkdir(tree, { mode: 0o700 });
  await rename(join(workDir, 'rootfs'), join(tree, 'rootfs'));
  const manifest: ImageManifest = {
    name: options.contents === 'full' ? 'base' : 'base-minimal',
    recipe,
    source,
    createdAt: new Date().toISOString(),
    ...content,
    missing,
  };
  return { tree, manifest };
}

/** Writes the manifest of the finished tree, syncs both and renames them to their final path in one step. */
async function publishFolder({
  tree,
  target,
  manifest,
  options,
}: {
  tree: string;
  target: string;
  manifest: ImageManifest;
  options: BaseImageOptions;
}): Promise<BaseImage> {
  const { onProgress, ownerOffset = 0, signal } = options;
  if (ownerOffset !== 0) await shiftOwners(join(tree, 'rootfs'), { by: ownerOffset, signal });
  const base = await replaceFolder({ tree, target, manifest, signal });
  if (manifest.missing.length === 0)
    onProgress({ phase: 'finish', message: 'the base image is ready', fraction: 1 });
  return base;
}

/**
 * Under the lock no other build runs, so every build folder is a leftover. A completed image is one when no start can be about to move
 * it.
 */
async function removeLeftovers(imagesDir: string): Promise<void> {
  const dead: string[] = [];
  for (const name of await readdir(imagesDir)) {
    const isOld = async (): Promise<boolean> =>
      Date.now() - (await stat(join(imagesDir, name))).mtimeMs > COMPLETING_MS;
    if (name.startsWith(buildPrefix) || (name.startsWith(completingPrefix) && (await isOld())))
      dead.push(name);
  }
  for (const name of dead) await removeTree(join(imagesDir, name));
}
