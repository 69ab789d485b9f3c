import type { Compression } from '@connectrpc/connect/protocol';
import { loadOnce } from '../load-once.ts';

const load = loadOnce(async () => (await import('./gzip.ts')).compressionGzip);

/** Gzip for messages, loaded by the first one that is compressed: few callers compress any. */
export const lateGzip: Compression = {
  name: 'gzip',
  compress: async (bytes) => (await load()).compress(bytes),
  decompress: async (bytes, readMaxBytes) => (await load()).decompress(bytes, readMaxBytes),
};
