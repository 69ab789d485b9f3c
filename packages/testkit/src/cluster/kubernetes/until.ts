import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves with how long it took until `check` resolved with true. Rejects after that time, with what `check` last rejected with. */
export const until = async (
  what: string,
  timeoutMs: number,
  check: () => Promise<boolean>,
): Promise<number> => {
  const start = performance.now();
  let problem: unknown;
  for (;;) {
    try {
      if (await check()) return performance.now() - start;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (performance.now() - start > timeoutMs)
      throw new Error(`not in ${Math.round(timeoutMs / 1000)} s: ${what}`, { cause: problem });
    await sleep(100);
  }
};
