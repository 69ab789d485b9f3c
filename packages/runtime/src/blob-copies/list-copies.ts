import type { BlobStore } from '@skerry/blobs';
import { imagesPrefix, toImageKey } from './image-copies.ts';
import { type CopyId, snapshotsPrefix, toCopyPrefix, toManifestKey } from './snapshot-copies.ts';

interface Options {
  signal?: AbortSignal | undefined;
}

/** Removes a copy of a snapshot or an image from the store. Idempotent, from any incomplete state. Rejects as the store does. */
export const removeBlobCopy = async (
  blobs: BlobStore,
  id: CopyId,
  { signal }: Options = {},
): Promise<void> => {
  await blobs.delete(toImageKey(id), { signal });
  // First of its blobs: without it there is no snapshot.
  await blobs.delete(toManifestKey(id), { signal });
  for await (const { key } of blobs.list(toCopyPrefix(id), { signal })) await blobs.delete(key, { signal });
};

/** The ids of all copies of which something is in the store. Rejects as the store does. */
export async function* listBlobCopies(blobs: BlobStore, { signal }: Options = {}): AsyncGenerator<CopyId> {
  for (const prefix of [snapshotsPrefix, imagesPrefix]) {
    let last: string | undefined;
    for await (const { key } of blobs.list(prefix, { signal })) {
      const [id = ''] = key.slice(prefix.length).split('/');
      if (id !== last) yield id;
      last = id;
    }
  }
}
