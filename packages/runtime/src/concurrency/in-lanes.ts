import { settleAll } from './settle-all.ts';

/** Works on all items in their order, on no more than `lanes` at a time. As `settleAll`: nothing is under way when it rejects. */
export const inLanes = async <T>(
  items: readonly T[],
  { lanes }: { lanes: number },
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await settleAll(Array.from({ length: lanes }, lane));
};
