import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ImageError } from '../image-error.ts';
import { keepImage, toImagePath } from '../image-file.ts';

/** The image files of a host, as others read and write them. */
export interface ImageFiles {
  has(digest: string): Promise<boolean>;
  /** Opens an image. The body has `sizeBytes`, and must be read or destroyed. Undefined when there is none. */
  read(digest: string): Promise<{ sizeBytes: number; body: Readable } | undefined>;
  /**
   * Writes an image, which is durable and complete when this resolves. Rejects with ImageError `corrupt` when the body has not that
   * size and digest, and with what `requireRoom` or `check` throws, and leaves nothing then. Two writes of one image at the same time both succeed.
   */
  write(image: { digest: string; sizeBytes: number }, body: Readable): Promise<void>;
}

export interface ImageFilesOptions {
  /** The folder of all images of templates. */
  folder: string;
  /** The folder of images that arrive, on the file system of `folder`. It is emptied when the folder is opened. */
  incoming: string;
  /** Throws where the host has no room for so much. */
  requireRoom: (sizeBytes: number) => void;
  /** Rejects when the file system of a new image, in this file, is not whole: the host mounts it later. */
  check: (path: string) => Promise<void>;
}

/** Opens the folder of images. Nothing else may use `incoming`. */
export const openImageFiles = async ({
  folder,
  incoming,
  requireRoom,
  check,
}: ImageFilesOptions): Promise<ImageFiles> => {
  await rm(incoming, { recursive: true, force: true });
  await mkdir(incoming, { mode: 0o700 });
  const find = async (digest: string): Promise<FileHandle | undefined> => {
    try {
      return await open(toImagePath(folder, digest, 'file'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  };
  return {
    has: async (digest) => {
      const file = await find(digest);
      await file?.close();
      return file !== undefined;
    },
    read: async (digest) => {
      const file = await find(digest);
      if (file === undefined) return undefined;
      const { size } = await file.stat();
      return { sizeBytes: size, body: file.createReadStream({ highWaterMark: 2 ** 20 }) };
    },
    write: async ({ digest, sizeBytes }, body) => {
      // Throws for what is no digest.
      toImagePath(folder, digest, 'file');
      const path = join(incoming, randomUUID());
      try {
        requireRoom(sizeBytes);
        const found = await writeSparse(path, body);
        if (found.digest !== digest || found.sizeBytes !== sizeBytes)
          throw new ImageError('corrupt', `image ${digest} has arrived incomplete or damaged`);
        await check(path);
        await keepImage(path, { folder, digest });
      } finally {
        body.destroy();
        await rm(path, { force: true });
      }
    },
  };
};

/** Writes a new file, in which zeros take no room, and syncs it. */
const writeSparse = async (path: string, body: Readable): Promise<{ digest: string; sizeBytes: number }> => {
  const hash = createHash('sha256');
  const file = await open(path, 'wx', 0o600);
  try {
    let sizeBytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      hash.update(chunk);
      if (!isZero(chunk)) await writeAll(file, chunk, sizeBytes);
      sizeBytes += chunk.length;
    }
    await file.truncate(sizeBytes);
    await file.sync();
    return { digest: `sha256:${hash.digest('hex')}`, sizeBytes };
  } finally {
    await file.close();
  }
};

const writeAll = async (file: FileHandle, chunk: Buffer, position: number): Promise<void> => {
  for (let written = 0; written < chunk.length; )
    written += (await file.write(chunk, written, chunk.length - written, position + written)).bytesWritten;
};

/** Compares the chunk with itself, shifted by one: `memcmp` is many times faster than a loop. */
const isZero = (chunk: Buffer): boolean =>
  chunk.length > 0 && chunk[0] === 0 && chunk.compare(chunk, 1, chunk.length, 0, chunk.length - 1) === 0;
