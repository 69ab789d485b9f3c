import { BlobError } from './blob-error.ts';
import type { BlobStore } from './blob-store.ts';

/** A store that may not be open yet. */
export interface ReopeningStore extends BlobStore {
  /** Opens it unless that is done or in progress. Rejects as the opening does; the next call tries again. */
  open(): Promise<void>;
}

/**
 * A store that is opened by the first call, and again by the next one after that has failed: calls reject as the opening does. A close does not
 * wait for an opening.
 */
export const createReopeningStore = (open: () => Promise<BlobStore>): ReopeningStore => {
  let opening: Promise<BlobStore> | undefined;
  let opened: BlobStore | undefined;

  const use = (signal?: AbortSignal): Promise<BlobStore> => {
    opening ??= open().then(
      (store) => {
        opened = store;
        return store;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return signal === undefined ? opening : unlessAborted(opening, signal);
  };

  return {
    open: async () => {
      await use();
    },
    put: async (key, body, options) => {
      let store: BlobStore;
      try {
        store = await use(options?.signal);
      } catch (error) {
        body.destroy();
        throw error;
      }
      return store.put(key, body, options);
    },
    get: async (key, options) => (await use(options?.signal)).get(key, options),
    head: async (key, options) => (await use(options?.signal)).head(key, options),
    delete: async (key, options) => (await use(options?.signal)).delete(key, options),
    list: async function* (prefix, options) {
      yield* (await use(options?.signal)).list(prefix, options);
    },
    removeAbandoned: async (options) => (await use(options.signal)).removeAbandoned(options),
    close: async () => {
      if (opened === undefined)
        void opening?.then(
          (store) => store.close(),
          () => undefined,
        );
      await opened?.close();
    },
  };
};

const unlessAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(new BlobError('aborted', 'the opening of the store was aborted'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
