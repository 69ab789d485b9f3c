import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './benchmark.ts';
import type { Row } from './row.ts';
import { startBenchStack } from './stack.ts';

/** How long a benchmark that was stopped may take to notice. */
const STOP_MS = 20_000;

/** What became of one benchmark. */
export type Outcome = { name: string; rows: Row[] } | { name: string; error: unknown };

/**
 * Runs benchmarks one after the other against one service; one that fails does not keep the others from running. Whatever
 * happens, and when `signal` aborts, all that was started is gone before this ends; it then throws the reason.
 */
export async function* runBenchmarks(
  benchmarks: readonly { name: string; benchmark: Benchmark }[],
  options: { runs: number; scale: number; installsReferences: boolean; signal: AbortSignal },
): AsyncGenerator<Outcome> {
  const { signal, ...rest } = options;
  const rows: Row[] = [];
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  aborted.catch(() => undefined);
  await using service = new AsyncDisposableStack();
  const stack = await startBenchStack({ resources: service });
  for (const { name, benchmark } of benchmarks) {
    signal.throwIfAborted();
    console.error(`measuring ${name}`);
    const resources = new AsyncDisposableStack();
    const measured = benchmark({ name, ...rest, stack, resources, measured: rows });
    try {
      const found = await Promise.race([measured, aborted]);
      rows.push(...found);
      yield { name, rows: found };
    } catch (error) {
      if (signal.aborted) throw error;
      yield { name, error };
    } finally {
      await resources.disposeAsync().catch((error: unknown) => {
        // An interrupt from the keyboard ends the service at the same time; what is left goes when that is taken down.
        if (!signal.aborted) throw error;
      });
      // One that was stopped fails for want of its resources; it may still be about to make one, which it then undoes.
      await Promise.race([measured.catch(() => undefined), delay(STOP_MS, undefined, { ref: false })]);
    }
  }
}
