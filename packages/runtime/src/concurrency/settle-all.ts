/**
 * Resolves as `Promise.all` does, but rejects only when all promises have settled: a caller that then cleans
 * up does not race with work that still creates something.
 */
export const settleAll = async <T extends readonly Promise<unknown>[] | []>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> => {
  await Promise.allSettled(promises);
  return Promise.all(promises);
};
