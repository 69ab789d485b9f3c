import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '@skerry/sdk';

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

/** Resolves with what `act` resolves with. A refusal after which the call may be repeated (`retryable`) is no failure for that time. */
export const retry = async <T>(timeoutMs: number, act: () => Promise<T>): Promise<T> => {
  const start = performance.now();
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const isRefusal = error instanceof SandboxError && error.retryable;
      if (!isRefusal || performance.now() - start > timeoutMs) throw error;
    }
    await sleep(100);
  }
};
