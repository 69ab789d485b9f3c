import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './benchmark.ts';
import type { Row } from './row.ts';
import { startBenchStack } from './stack.ts';

/** How long a benchmark that was stopped may take to notice. */
const STOP_MS = 20_000;

/**
 * Runs benchmarks one after the other against one service and yields the rows of each. Whatever happens, and when `signal`
 * aborts, all that was started is gone before this ends; it then throws the reason.
 */
export async function* runBenchmarks(
  benchmarks: readonly { name: string; benchmark: Benchmark }[],
  { runs, scale, signal }: { runs: number; scale: number; signal: AbortSignal },
): AsyncGenerator<Row[]> {
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
    const measured = benchmark({ name, runs, scale, stack, resources });
    try {
      yield await Promise.race([measured, aborted]);
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
