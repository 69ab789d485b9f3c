/**
 * As `Promise.all`, but nothing is under way any more when it rejects: whoever undoes what was made comes after the last
 * that makes something.
 */
export const settleAll = async <T extends readonly Promise<unknown>[] | []>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> => {
  await Promise.allSettled(promises);
  return Promise.all(promises);
};
