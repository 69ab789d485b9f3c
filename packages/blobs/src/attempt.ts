import { type ToCode, toBlobError } from './blob-error.ts';

/**
 * Returns a function that does the work of one call of a store: `work` is not begun once the signal has aborted, and
 * every failure of it becomes a BlobError, see `toBlobError`.
 */
export const createAttempt =
  (toCode: ToCode) =>
  async <T>(step: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
    try {
      signal?.throwIfAborted();
      return await work();
    } catch (error) {
      throw toBlobError(error, { step, toCode, signal });
    }
  };
