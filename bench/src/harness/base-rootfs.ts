import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './temporary-folder.ts';

const run = promisify(execFile);

/** Path of the minimal base image that was made last, an ext4 file. Throws when there is none. */
export function findBaseImage(imagesDir: string): string {
  const images = readdirSync(imagesDir)
    .filter((name) => /^base-.*\.json$/.test(name))
    .map((name) => JSON.parse(readFileSync(join(imagesDir, name), 'utf8')) as Description)
    .filter(({ name }) => name === 'base-minimal')
    .map(({ createdAt, image }) => ({
      createdAt,
      path: join(imagesDir, `${image?.replace(':', '-')}.ext4`),
    }))
    .filter(({ path }) => existsSync(path))
    .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const last = images.at(-1);
  if (last === undefined) throw new Error(`there is no base image in ${imagesDir}`);
  return last.path;
}

interface Description {
  name: string;
  createdAt: string;
  /** The digest of the file; missing in the description of a folder. */
  image?: string;
}

/**
 * Mounts the base image read-only, with a mount of its own, in which programs can be executed. Resolves with the folder of
 * its tree; the mount ends with the resources. Needs root.
 */
export async function mountBaseRootfs(options: {
  imagesDir: string;
  resources: AsyncDisposableStack;
}): Promise<string> {
  const { imagesDir, resources } = options;
  const target = join(temporaryFolder(resources), 'image');
  mkdirSync(target);
  await run('mount', ['-t', 'ext4', '-o', 'ro,loop', findBaseImage(imagesDir), target]);
  resources.defer(async () => {
    await run('umount', [target]);
  });
  return join(target, 'rootfs');
}
