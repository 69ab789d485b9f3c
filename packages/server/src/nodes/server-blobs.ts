import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobError, type BlobStore, createReopeningStore, isBlobError } from '@skerry/blobs';
import { openBlobStore } from '@skerry/blobs/open';
import type { CopyStore, Log } from '@skerry/platform';
import { listBlobCopies, readImageCopy, removeBlobCopy, writeImageCopy } from '@skerry/runtime/node';
import { UserError } from '../user-error.ts';

/** A store of blobs, as `@skerry/blobs/open` opens it. */
export type BlobStoreChoice =
  | { kind: 'folder'; folder: string }
  | { kind: 's3'; bucket: string; region: string; endpoint?: string };

/** A server starts without its blob store when that does not answer for so long. */
const START_MS = 5_000;
/** A put that lasts longer has no end. */
const ABANDONED_MS = 86_400_000;
/** What a killed server was storing is removed by those that run on, so not only at the start of one. */
const REMOVAL_INTERVAL_MS = 3_600_000;
/** Names the installation whose server has used the store first. */
const OWNER_KEY = 'installation';

/**
 * Opens the blob store of a server. One that cannot be reached now is opened by the first call that reaches it; calls reject with `unavailable`
 * until then. Rejects with `UserError` when it can never be used like that, or belongs to another installation.
 */
export async function openServerBlobs(
  choice: BlobStoreChoice,
  { installation, log }: { installation: string; log: Log },
): Promise<BlobStore> {
  const blobs = createReopeningStore(async () => {
    const store = await openBlobStore(choice);
    try {
      await claim(store, installation);
    } catch (error) {
      await store.close();
      throw error;
    }
    const removeAbandoned = (): void => {
      store
        .removeAbandoned({ startedBefore: new Date(Date.now() - ABANDONED_MS) })
        .catch((error: unknown) => log.warn('unfinished blobs could not be removed', { error }));
    };
    removeAbandoned();
    const removals = setInterval(removeAbandoned, REMOVAL_INTERVAL_MS).unref();
    return {
      ...store,
      close: () => {
        clearInterval(removals);
        return store.close();
      },
    };
  });
  const opened = blobs.open();
  const late = sleep(START_MS, 'late' as const, { ref: false });
  try {
    if ((await Promise.race([opened, late])) !== 'late') return blobs;
    opened.catch((error: unknown) => log.error('the blob store cannot be reached', { error }));
    log.error(
      'the blob store does not answer: the server starts without it, and uses it when it can be reached',
    );
  } catch (error) {
    if (!isBlobError(error)) throw error;
    if (error.code !== 'unavailable')
      throw new UserError(`the blob store cannot be used: ${error.message}`, { cause: error });
    log.error('the blob store cannot be reached: the server starts without it, and uses it when it can', {
      error,
    });
  }
  return blobs;
}

/** Rejects with `denied` when the store belongs to another installation: what that one has there would be removed. */
async function claim(store: BlobStore, installation: string): Promise<void> {
  const known = await store.get(OWNER_KEY).catch((error: unknown) => {
    if (isBlobError(error, 'not_found')) return undefined;
    throw error;
  });
  if (known === undefined) {
    await store.put(OWNER_KEY, Readable.from([installation]));
    return;
  }
  if ((await text(known.body)) !== installation)
    throw new BlobError('denied', 'it belongs to another installation, with another secret');
}

/** What the platform itself does with the store. */
export const toCopyStore = (blobs: BlobStore): CopyStore => ({
  remove: (id, options) => removeBlobCopy(blobs, id, options),
  listIds: (options) => listBlobCopies(blobs, options),
  writeImage: (id, options) => writeImageCopy(blobs, id, options),
  readImage: (id) => readImageCopy(blobs, id),
});
