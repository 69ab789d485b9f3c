import { BlobError, type BlobStore } from '@skerry/blobs';
import { type CopyId, toCopyPrefix } from './snapshot-copies.ts';

/** The part of a store that one request may use: the blobs of one copy, read, or read and written. All else is `denied`. */
export const toBlobsOfCopy = (
  blobs: BlobStore,
  id: CopyId,
  { isWritable }: { isWritable: boolean },
): BlobStore => {
  const prefix = toCopyPrefix(id);
  const check = (key: string, isAllowed: boolean): void => {
    if (!isAllowed || !key.startsWith(prefix))
      throw new BlobError('denied', `a request for the copy ${id} may not do this with ${key.slice(0, 200)}`);
  };
  const refuse = (): Promise<never> =>
    Promise.reject(new BlobError('denied', 'this is not for a single copy'));
  return {
    put: async (key, body, options) => {
      check(key, isWritable);
      return blobs.put(key, body, options);
    },
    get: async (key, options) => {
      check(key, true);
      return blobs.get(key, options);
    },
    head: async (key, options) => {
      check(key, true);
      return blobs.head(key, options);
    },
    delete: refuse,
    list: async function* (wanted, options) {
      check(wanted, true);
      yield* blobs.list(wanted, options);
    },
    removeAbandoned: refuse,
    close: async () => {},
  };
};
