import type { BlobStore } from './blob-store.ts';
import type { S3Settings } from './s3/s3.ts';

/** Plain data, by which a store is chosen. */
export type BlobStoreChoice =
  /** An absolute path. */
  { kind: 'folder'; folder: string } | ({ kind: 's3' } & S3Settings);

/**
 * Opens the store. The client of S3 is loaded only when that is chosen: it is larger than everything else of a server.
 * Rejects with a `BlobError` when the store cannot be reached.
 */
export const openBlobStore = async (choice: BlobStoreChoice): Promise<BlobStore> => {
  switch (choice.kind) {
    case 'folder': {
      const { openFolderStore } = await import('./folder/folder.ts');
      return openFolderStore(choice);
    }
    case 's3': {
      const { openS3Store } = await import('./s3/s3.ts');
      return openS3Store(choice);
    }
  }
};
