import { mkdir, mkdtemp, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ImageError } from '../image-error.ts';
import { pullImage } from '../oci/pull.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';
import { toDefaultSources } from './apt-sources.ts';
import { buildFromPackages } from './debootstrap.ts';
import { finishRootfs } from './finish.ts';
import { lockFolder } from './folder-lock.ts';
import { installMissing } from './install-missing.ts';
import { type ImageManifest, type ImageSource, readManifest } from './manifest.ts';
import type { OnProgress } from './progress.ts';
import { toRecipeDigest } from './recipe.ts';
import { findProgram, runProgram } from './run-program.ts';
import { shiftOwners } from './shift-owners.ts';
import { digestTree } from './tree-digest.ts';

export interface BaseImageOptions {
  /** Made when missing; may be shared by several processes. Needs about 300 MB. */
  imagesDir: string;
  onProgress: OnProgress;
  /** OCI reference of an image to start from. Without it, or when its registry does not answer: the distribution's packages. */
  registryImage?: string | undefined;
  credentials?: RegistryCredentials | undefined;
  /** Added to the numbers of all owners: what root of an image is on this host. Default 0. */
  ownerOffset?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface BaseImage {
  /** Absolute path of the unpacked file system. Nothing writes to it from here on. */
  rootfs: string;
  /** Of its content: `sha256:` and 64 hex digits. */
  digest: string;
}

const buildPrefix = '.building-';

/**
 * Returns the base template, and makes it first when `imagesDir` does not hold it: once, however many processes ask, as the
 * others wait. On disk when it resolves; what a build leaves that was cut short by SIGKILL, the next one removes. Needs root, of the host or of a user namespace. Rejects with ImageError or the reason of `signal`, and leaves nothing then.
 */
export async function ensureBaseImage(options: BaseImageOptions): Promise<BaseImage> {
  const { onProgress, signal } = options;
  const imagesDir = resolve(options.imagesDir);
  const recipe = toRecipeDigest(options);
  const target = join(imagesDir, `base-${recipe}`);
  const existing = await readManifest(target, recipe);
  if (existing) return toBaseImage(target, existing);

  await mkdir(imagesDir, { recursive: true, mode: 0o700 });
  const lock = await lockFolder({
    folder: imagesDir,
    onWait: () => onProgress({ phase: 'wait', message: 'another process is making the base image' }),
    signal,
  });
  try {
    const made = await readManifest(target, recipe);
    if (made) return toBaseImage(target, made);
    await removeLeftovers(imagesDir, target);
    // 0700: the image holds setuid programs, which no user of the host may reach.
    const workDir = await mkdtemp(join(imagesDir, buildPrefix));
    try {
      const source = await build(workDir, options);
      return toBaseImage(target, await publish({ workDir, target, recipe, source, options }));
    } finally {
      await rm(workDir, { recursive: true, force: true });
    }
  } finally {
    await lock.release();
  }
}

async function build(workDir: string, options: BaseImageOptions): Promise<ImageSource> {
  const { onProgress, registryImage, credentials, signal } = options;
  const rootfs = join(workDir, 'rootfs');
  if (registryImage !== undefined) {
    try {
      const pulled = await pullImage({ reference: registryImage, credentials, rootfs, onProgress, signal });
      await installMissing({ rootfs, workDir, onProgress, signal });
      finishRootfs(rootfs);
      return { kind: 'registry', reference: registryImage, ...pulled };
    } catch (error) {
      if (!(error instanceof ImageError) || error.code !== 'registry_unavailable') throw error;
      const message = `${error.message}: using the distribution's packages instead`;
      onProgress({ phase: 'install', message, fraction: 0 });
      await rm(rootfs, { recursive: true, force: true });
    }
  }
  const distribution = await buildFromPackages({ workDir, onProgress, signal });
  finishRootfs(rootfs, { aptSources: toDefaultSources(distribution) });
  return { kind: 'packages', distribution: distribution.id, codename: distribution.codename };
}

/** Describes the finished tree, brings it to disk and gives it its name in one step. */
async function publish({
  workDir,
  target,
  recipe,
  source,
  options,
}: {
  workDir: string;
  target: string;
  recipe: string;
  source: ImageSource;
  options: BaseImageOptions;
}): Promise<ImageManifest> {
  const { onProgress, ownerOffset = 0, signal } = options;
  onProgress({ phase: 'finish', message: 'checking and saving the image', fraction: 0.95 });
  const image = join(workDir, 'image');
  await mkdir(image, { mode: 0o700 });
  await rename(join(workDir, 'rootfs'), join(image, 'rootfs'));
  const manifest: ImageManifest = {
    name: 'base',
    recipe,
    source,
    createdAt: new Date().toISOString(),
    ...(await digestTree(join(image, 'rootfs'), { signal })),
  };
  if (ownerOffset !== 0) await shiftOwners(join(image, 'rootfs'), { by: ownerOffset, signal });
  await writeFile(join(image, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o644 });
  // One call for the whole file system: thousands of single fsyncs would take longer.
  await runProgram({ file: findProgram('sync', 'coreutils'), args: ['--file-system', image], signal });
  await rename(image, target);
  await syncFolder(dirname(target));
  onProgress({ phase: 'finish', message: 'the base image is ready', fraction: 1 });
  return manifest;
}

/** Under the lock no build is alive, so every build folder is a dead one; a target without a manifest is damaged. */
async function removeLeftovers(imagesDir: string, target: string): Promise<void> {
  const dead = (await readdir(imagesDir)).filter((name) => name.startsWith(buildPrefix));
  for (const path of [...dead.map((name) => join(imagesDir, name)), target])
    await rm(path, { recursive: true, force: true });
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function toBaseImage(folder: string, { digest }: ImageManifest): BaseImage {
  return { rootfs: join(folder, 'rootfs'), digest };
}
