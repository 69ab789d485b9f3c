export { BlobError, type BlobErrorCode, isBlobError } from './blob-error.ts';
export type { ByteRange } from './blob-key.ts';
export type { BlobInfo, BlobStore } from './blob-store.ts';
export { createReopeningStore, type ReopeningStore } from './reopening-store.ts';
