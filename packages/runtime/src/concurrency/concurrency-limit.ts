import { settleAll } from './settle-all.ts';

/**
 * Works on all items in their order, on no more than `limit` at a time. When it rejects, no work is running any more.
 */
export const withConcurrencyLimit = async <T>(
  items: readonly T[],
  { limit }: { limit: number },
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await settleAll(Array.from({ length: limit }, worker));
};
