import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { prepareForSandboxes } from '../base/finish.ts';
import type { OnProgress } from '../base/progress.ts';
import { ImageError } from '../image-error.ts';
import { keepImageFile, listFolder, type MakeImageFile } from '../image-file.ts';
import { emptyConfig, type ImageConfig } from '../oci/image-config.ts';
import { pullImage } from '../oci/pull.ts';
import type { Reach } from '../oci/reach.ts';
import { isEmptyImage } from '../oci/reference.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';

/** What the file system of a folder can take beside what it keeps in reserve. */
export type ReadSpareRoom = (folder: string) => { sizeBytes: number; entryCount: number };

export interface TemplateImageOptions {
  /** The folder of all images of templates; made when missing. */
  folder: string;
  /** OCI reference of the image; `scratch` for the empty one. */
  reference: string;
  credentials?: RegistryCredentials | undefined;
  /** Sends the requests to registries. */
  reach: Reach;
  makeFile: MakeImageFile;
  readSpareRoom: ReadSpareRoom;
  onProgress: OnProgress;
  signal?: AbortSignal | undefined;
}

export interface TemplateImage {
  /** Absolute path of the file. It is never written to from here on. */
  path: string;
  /** Of the file: `sha256:` and 64 hex digits. */
  digest: string;
  /** The space that it takes. */
  sizeBytes: number;
  config: ImageConfig;
}

const buildPrefix = '.building-';

/** The path of a file that another process makes in the folder and `keepImageFile` moves to its place. */
export const toUnfinishedFile = (folder: string, name: string): string =>
  join(folder, `${buildPrefix}${name}.ext4`);

/** Makes the folder, and removes what killed processes have left in it: nothing may be in progress there. */
export async function sweepTemplateImages(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await listFolder(folder))
    if (name.startsWith(buildPrefix)) await rm(join(folder, name), { recursive: true, force: true });
}

/**
 * Pulls an image of a registry and makes of it the file system of a template, with what every sandbox needs added. On
 * the medium when it resolves. Rejects with ImageError, or the reason of `signal`, and leaves nothing then. Needs root.
 */
export async function makeTemplateImage(options: TemplateImageOptions): Promise<TemplateImage> {
  const { reference, credentials, reach, makeFile, readSpareRoom, onProgress, signal } = options;
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const requireRoom = (sizeBytes: number): void => {
    const spare = readSpareRoom(folder);
    if (sizeBytes > spare.sizeBytes || spare.entryCount < 1)
      throw new ImageError('no_room', 'the host has too little room for the image');
  };
  requireRoom(1);
  const workDir = await mkdtemp(join(folder, buildPrefix));
  try {
    // Alone in its folder, whose content becomes that of the file system.
    const tree = join(workDir, 'tree');
    const rootfs = join(tree, 'rootfs');
    await mkdir(tree);
    const { config } = isEmptyImage(reference)
      ? await makeEmpty(rootfs)
      : await pullImage({ reference, credentials, reach, rootfs, onProgress, requireRoom, signal });
    await prepareForSandboxes(rootfs);
    onProgress({ phase: 'finish', message: 'writing the file system of the image', fraction: 0.9 });
    const file = join(workDir, 'image.ext4');
    const { digest, sizeBytes } = await makeFile({ folder: tree, path: file, signal, requireRoom });
    return { path: await keepImageFile(file, { folder, digest }), digest, sizeBytes, config };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function makeEmpty(rootfs: string): Promise<{ config: ImageConfig }> {
  await mkdir(rootfs);
  return { config: emptyConfig() };
}
