import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type HostImages, UnusableImageError } from '../images/template-images.ts';

/** Images that are folders of one folder, as the memory driver uses them. None can be pulled or loaded. */
export const createFolderImages = (folder: string): HostImages & { add(digest: string): Promise<void> } => ({
  add: async (digest) => {
    await mkdir(join(folder, digest), { recursive: true });
  },
  check: () => undefined,
  findTarget: () => undefined,
  make: async ({ reference }) => {
    throw new UnusableImageError(`${reference} is in no registry`);
  },
  findOrigin: async ({ reference }) => {
    throw new UnusableImageError(`${reference} is in no registry`);
  },
  load: async ({ archive }) => {
    throw new UnusableImageError(`${archive} is no archive`);
  },
  save: async ({ image }) => ({ archive: Readable.from([image]), sizeBytes: Buffer.byteLength(image) }),
  toUnfinished: (name) => join(folder, name),
  keep: ({ file, digest }) => rename(file, join(folder, digest)),
  toPath: (digest) => join(folder, digest),
  list: () => readdir(folder).catch(() => []),
  remove: (digest) => rm(join(folder, digest), { recursive: true, force: true }),
  listLayers: async () => [],
  removeLayer: async () => undefined,
});
