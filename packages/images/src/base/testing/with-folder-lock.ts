import type { BaseImageOptions } from '../base-image.ts';

let earlier: Promise<unknown> | undefined;

/**
 * One work at a time within this process, as the lock of a folder does between processes. A waiting one can be aborted.
 */
export const withFolderLock: BaseImageOptions['withFolderLock'] = async (_, work, { onWait, signal }) => {
  if (earlier) onWait();
  while (earlier) {
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    await Promise.race([earlier.catch(() => undefined), aborted.promise]).finally(() =>
      signal?.removeEventListener('abort', abort),
    );
  }
  const current = work();
  earlier = current;
  try {
    return await current;
  } finally {
    earlier = undefined;
  }
};
