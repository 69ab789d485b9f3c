import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { type BlobStore, isBlobError } from '@skerry/blobs';
import { RuntimeError } from '../error.ts';
import type { CopyId } from './snapshot-copies.ts';

export const imagesPrefix = 'images/';

/** A copy of an image is one blob, compressed by zstd. */
export const toImageKey = (copy: CopyId): string => `${imagesPrefix}${copy}`;

interface Options {
  signal?: AbortSignal | undefined;
}

/** Stores an image, whose body is read or destroyed. Resolves with what it takes in the store. Rejects with `unavailable`. */
export const writeImageCopy = async (
  blobs: BlobStore,
  copy: CopyId,
  { body, signal }: { body: Readable } & Options,
): Promise<{ sizeBytes: number }> => {
  const compressed = new PassThrough();
  const packed = pipeline(body, zlib.createZstdCompress(), compressed);
  // The failure of the one that comes first is thrown.
  packed.catch(() => undefined);
  try {
    const stored = await blobs.put(toImageKey(copy), compressed, { signal });
    await packed;
    return stored;
  } catch (error) {
    throw toFailure(error, `storing the image as ${copy}`);
  } finally {
    compressed.destroy();
  }
};

/** Opens an image of the store; the body must be read or destroyed. Rejects with `not_found` and `unavailable`. */
export const readImageCopy = async (
  blobs: BlobStore,
  copy: CopyId,
  { signal }: Options = {},
): Promise<Readable> => {
  const found = await blobs.get(toImageKey(copy), { signal }).catch((error: unknown) => {
    throw toFailure(error, `reading the image ${copy}`);
  });
  const body = zlib.createZstdDecompress();
  // The reader of the body receives the failure.
  pipeline(found.body, body).catch(() => undefined);
  body.once('close', () => found.body.destroy());
  return body;
};

const toFailure = (error: unknown, step: string): unknown => {
  if (!isBlobError(error)) return error;
  const code = isBlobError(error, 'not_found') ? 'not_found' : 'unavailable';
  return new RuntimeError(code, `${step} failed: ${error.message}`, { cause: error });
};
