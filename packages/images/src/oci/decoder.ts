import type { Duplex } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { createZstdDecoder } from './workarounds/zstd-frames.ts';

export type Compression = 'none' | 'gzip' | 'zstd';

/** Each piece is a turn of the thread pool: with the 16 KiB of the default those take longer than the decompression. */
const chunkSize = 256 * 1024;

/** The streams that bytes of that compression pass through to become plain. */
export function toDecoder(compression: Compression): Duplex[] {
  if (compression === 'gzip') return [createGunzip({ chunkSize })];
  if (compression === 'zstd') return [createZstdDecoder({ chunkSize })];
  return [];
}
