import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { readDataRanges } from './copy-disk.ts';

const CHUNK_BYTES = 2 ** 20;
const BLOCK_BYTES = 4096;
const zeros = Buffer.alloc(BLOCK_BYTES);

/**
 * The SHA-256, in hex, of every non-zero block with its offset, so that a hole and a block of zeros are equal. Does not
 * cover the size. Reads only written data: a sandbox can give a file any size. Rejects with the signal's reason when
 * that aborts.
 */
export const hashSparse = async (file: FileHandle, signal?: AbortSignal): Promise<string> => {
  const hash = createHash('sha256');
  const place = Buffer.alloc(8);
  let buffer = Buffer.alloc(0);
  let at = 0;
  for (const { offset, length } of readDataRanges(file.fd)) {
    // Blocks of this size, regardless of those of the file system.
    at = Math.max(at, offset - (offset % BLOCK_BYTES));
    const end = Math.ceil((offset + length) / BLOCK_BYTES) * BLOCK_BYTES;
    while (at < end) {
      signal?.throwIfAborted();
      const wantedBytes = Math.min(CHUNK_BYTES, end - at);
      if (buffer.length < wantedBytes) buffer = Buffer.alloc(wantedBytes);
      const { bytesRead } = await file.read(buffer, 0, wantedBytes, at);
      for (let from = 0; from < bytesRead; from += BLOCK_BYTES) {
        const block = buffer.subarray(from, Math.min(from + BLOCK_BYTES, bytesRead));
        if (block.equals(zeros.subarray(0, block.length))) continue;
        place.writeBigUInt64LE(BigInt(at + from));
        hash.update(place).update(block);
      }
      at += wantedBytes;
    }
  }
  return hash.digest('hex');
};
