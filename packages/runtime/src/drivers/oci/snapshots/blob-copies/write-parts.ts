import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { BlobStore } from '@skerry/blobs';
import { withConcurrencyLimit } from '../../../../concurrency/concurrency-limit.ts';
import { readDataRanges } from '../../disk/copy-disk.ts';
import { type CopiedFile, type CopiedPart, PART_BYTES } from './copy-manifest.ts';

const compress = promisify(zlib.zstdCompress);

/** The parts of one file that are in memory at the same time, each twice: as it is, and compressed. */
const PARTS_IN_FLIGHT = 2;

const zeros = Buffer.alloc(PART_BYTES);

export interface PartsTarget {
  blobs: BlobStore;
  toKey(sha256: string): string;
  /** Digest → size of the blob: the parts that are in the store already. Those that are written are added. */
  stored: Map<string, number>;
  signal: AbortSignal | undefined;
}

/**
 * Stores the content of a file, which does not change meanwhile, in parts; not those that are in the store already, and none for holes
 * and zeros. Rejects as the store does, and with the error of the system call.
 */
export const writeParts = async (path: string, target: PartsTarget): Promise<CopiedFile> => {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  const parts: CopiedPart[] = [];
  await withConcurrencyLimit([...toOffsets(file.fd)], { limit: PARTS_IN_FLIGHT }, async (offset) => {
    target.signal?.throwIfAborted();
    const wantedBytes = Math.min(PART_BYTES, size - offset);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wantedBytes), 0, wantedBytes, offset);
    const bytes = buffer.subarray(0, bytesRead);
    if (bytes.equals(zeros.subarray(0, bytes.length))) return;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    parts.push({
      offset,
      sizeBytes: bytes.length,
      sha256,
      storedBytes: await storePart(bytes, sha256, target),
    });
  });
  return { sizeBytes: size, parts: parts.sort((one, other) => one.offset - other.offset) };
};

/** The places of a file that may have something else than zeros, as multiples of the size of a part. */
function* toOffsets(file: number): Generator<number, void, undefined> {
  let next = 0;
  for (const { offset, length } of readDataRanges(file)) {
    const first = offset - (offset % PART_BYTES);
    for (let at = Math.max(first, next); at < offset + length; at += PART_BYTES) {
      yield at;
      next = at + PART_BYTES;
    }
  }
}

const storePart = async (bytes: Buffer, sha256: string, target: PartsTarget): Promise<number> => {
  const { blobs, stored, signal } = target;
  const known = stored.get(sha256);
  if (known !== undefined) return known;
  const compressed = await compress(bytes);
  const { sizeBytes } = await blobs.put(target.toKey(sha256), Readable.from([compressed]), {
    sizeBytes: compressed.length,
    signal,
  });
  stored.set(sha256, sizeBytes);
  return sizeBytes;
};
