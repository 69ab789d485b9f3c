import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
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
}) => Promise<{ digest: string; sizeBytes: number }>;

const fileName = /^sha256-([0-9a-f]{64})\.ext4$/;

/** Where the image file of a digest is. Throws for what is no digest. */
export function toImageFile(folder: string, digest: string): string {
  const name = `${digest.replace(':', '-')}.ext4`;
  if (!fileName.test(name)) throw new Error(`${JSON.stringify(digest)} is no digest`);
  return join(folder, name);
}

/** Moves a new file to its place in `folder`, where an equal one may be. Durable when it resolves, with the path. */
export async function keepImageFile(file: string, to: { folder: string; digest: string }): Promise<string> {
  const path = toImageFile(to.folder, to.digest);
  await mkdir(to.folder, { recursive: true, mode: 0o700 });
  await rename(file, path);
  await syncFolder(to.folder);
  return path;
}

/** The digests of all image files of a folder, which may be missing. */
export async function listImageFiles(folder: string): Promise<string[]> {
  return (await listFolder(folder)).flatMap((name) => {
    const [, hex] = fileName.exec(name) ?? [];
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

/** Removes the image file of a digest. Idempotent. */
export const removeImageFile = (folder: string, digest: string): Promise<void> =>
  rm(toImageFile(folder, digest), { force: true });

/** Resolves when the names of a folder's entries are on the medium. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
