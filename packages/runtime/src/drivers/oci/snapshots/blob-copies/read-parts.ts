import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { type BlobStore, isBlobError } from '@skerry/blobs';
import { withConcurrencyLimit } from '../../../../concurrency/concurrency-limit.ts';
import { RuntimeError } from '../../../../error.ts';
import type { CopiedFile, CopiedPart } from './copy-manifest.ts';

const decompress = promisify(zlib.zstdDecompress);

/** The parts that are in memory at the same time, each twice. */
const PARTS_IN_FLIGHT = 4;

const BLOCK_BYTES = 4096;
const zeros = Buffer.alloc(BLOCK_BYTES);

export interface PartsSource {
  blobs: BlobStore;
  toKey(sha256: string): string;
  signal: AbortSignal | undefined;
}

/**
 * Writes a new file of the parts in a store, mode 0600, with a hole for each block of zeros. It is on the medium when
 * this resolves. Rejects with `damaged` when a part is missing or is not what its digest says, and otherwise as the
 * store does, and with the error of the system call.
 */
export const readParts = async (path: string, stored: CopiedFile, source: PartsSource): Promise<void> => {
  await using file = await open(path, 'wx', 0o600);
  await file.truncate(stored.sizeBytes);
  await withConcurrencyLimit(stored.parts, { limit: PARTS_IN_FLIGHT }, async (part) => {
    source.signal?.throwIfAborted();
    await writeSparse(file, await readPart(part, source), part.offset);
  });
  await file.sync();
};

const readPart = async (part: CopiedPart, { blobs, toKey, signal }: PartsSource): Promise<Buffer> => {
  const { sha256, sizeBytes, storedBytes } = part;
  const key = toKey(sha256);
  const found = await blobs.get(key, { signal }).catch((error: unknown) => {
    if (!isBlobError(error, 'not_found')) throw error;
    throw new RuntimeError('damaged', `the part ${key} is missing`, { cause: error });
  });
  if (found.sizeBytes !== storedBytes) {
    found.body.destroy();
    throw new RuntimeError('damaged', `the part ${key} has ${found.sizeBytes} bytes and had ${storedBytes}`);
  }
  const packed = await buffer(found.body);
  const bytes = await decompress(packed, { maxOutputLength: sizeBytes }).catch((error: unknown) => {
    throw new RuntimeError('damaged', `the part ${key} cannot be unpacked`, { cause: error });
  });
  if (bytes.length !== sizeBytes || createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new RuntimeError('damaged', `the part ${key} is not what its digest says`);
  return bytes;
};

/** Writes all but the blocks of zeros. */
const writeSparse = async (file: FileHandle, bytes: Buffer, offset: number): Promise<void> => {
  const isZero = (at: number): boolean => {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    return block.equals(zeros.subarray(0, block.length));
  };
  for (let at = 0; at < bytes.length; ) {
    if (isZero(at)) {
      at += BLOCK_BYTES;
      continue;
    }
    let end = at + BLOCK_BYTES;
    while (end < bytes.length && !isZero(end)) end += BLOCK_BYTES;
    const run = bytes.subarray(at, end);
    // A write may be a part of it only.
    for (let done = 0; done < run.length; ) {
      const { bytesWritten } = await file.write(run, done, run.length - done, offset + at + done);
      done += bytesWritten;
    }
    at = end;
  }
};
