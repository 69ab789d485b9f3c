export { BlobError, type BlobErrorCode, isBlobError } from './blob-error.ts';
export type { ByteRange } from './blob-key.ts';
export type { BlobInfo, BlobStore } from './blob-store.ts';
export { createReopening, type ReopeningStore } from './reopening.ts';
