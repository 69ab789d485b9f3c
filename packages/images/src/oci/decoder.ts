import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

export type Compression = 'none' | 'gzip' | 'zstd';

/** The streams that bytes of that compression pass through to become plain. */
export function toDecoder(compression: Compression): Transform[] {
  if (compression === 'gzip') return [createGunzip()];
  if (compression === 'zstd') return [createZstdDecompress()];
  return [];
}
