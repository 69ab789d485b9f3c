import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes the content of a folder into a file system at `path`, a new file, and syncs it. Resolves with the digest of the
 * file and the space that it takes.
 */
export type MakeImageFile = (options: {
  folder: string;
  path: string;
  signal?: AbortSignal | undefined;
  /** Called with the size before the file is written; throws where the host has no room for it. */
  requireRoom?: ((sizeBytes: number) => void) | undefined;
  /** Called when the folder is not read any more, and the file is not finished yet. */
  onCopied?: (() => void) | undefined;
}) => Promise<{ digest: string; sizeBytes: number }>;

/**
 * Resolves when a finished folder is on the medium, with the digest of its entries and the space that it takes. Rejects with the
 * reason of `signal`.
 */
export type SealImageFolder = (options: {
  folder: string;
  signal?: AbortSignal | undefined;
}) => Promise<{ digest: string; sizeBytes: number }>;

/** A file with a file system, or, where none can be mounted, the folder of the tree itself. */
export type ImageForm = 'file' | 'folder';

/** What its name ends with. */
export const imageSuffix = { file: '.ext4', folder: '' } as const satisfies Record<ImageForm, string>;

/** The beginning of the names of what is not an image yet, or not any more. */
export const unfinishedPrefix = '.building-';

const imageName = /^sha256-([0-9a-f]{64})(?:\.ext4)?$/;

/** Where the image of a digest is. Throws for what is no digest. */
export function toImagePath(folder: string, digest: string, form: ImageForm): string {
  const name = `${digest.replace(':', '-')}${imageSuffix[form]}`;
  if (!imageName.test(name)) throw new Error(`${JSON.stringify(digest)} is no digest`);
  return join(folder, name);
}

/**
 * Moves a new image, a file or a folder, to its place in `folder`, where an equal one may be. Durable when it resolves, with the
 * path.
 */
export async function keepImage(from: string, to: { folder: string; digest: string }): Promise<string> {
  await mkdir(to.folder, { recursive: true, mode: 0o700 });
  const form = (await lstat(from)).isDirectory() ? 'folder' : 'file';
  const path = toImagePath(to.folder, to.digest, form);
  await rename(from, path).catch(async (error: NodeJS.ErrnoException) => {
    // A folder does not take the place of another one. Sandboxes may have that, which is equal.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    await rm(from, { recursive: true });
  });
  await syncFolder(to.folder);
  return path;
}

/** The digests of all images of a folder, which may be missing. */
export async function listImages(folder: string): Promise<string[]> {
  return (await listFolder(folder)).flatMap((name) => {
    const [, hex] = imageName.exec(name) ?? [];
    return hex === undefined ? [] : [`sha256:${hex}`];
  });
}

/** The names in a folder; none when it is missing. */
export async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Removes the image of a digest, in either form. Idempotent. */
export async function removeImage(folder: string, digest: string): Promise<void> {
  await rm(toImagePath(folder, digest, 'file'), { force: true });
  // At once: a part of a folder must not be found as an image.
  // Short: paths in the folder may be as long as the kernel accepts.
  const rest = join(folder, `${unfinishedPrefix}${randomUUID().slice(0, 8)}`);
  try {
    await rename(toImagePath(folder, digest, 'folder'), rest);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await rm(rest, { recursive: true });
}

/** Resolves when the names of a folder's entries are on the medium. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
