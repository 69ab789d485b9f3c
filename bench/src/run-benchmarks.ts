import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './harness/benchmark.ts';
import { startBenchStack } from './harness/stack.ts';
import type { Row } from './report/row.ts';

/** The time in which a stopped benchmark must end. */
const STOP_MS = 20_000;

export interface NamedBenchmark {
  name: string;
  benchmark: Benchmark;
}

/** The result of one benchmark. */
export type Outcome = { name: string; rows: Row[] } | { name: string; error: unknown };

/**
 * Runs benchmarks one after the other on one service, each when the iteration asks for it; a failed one does not stop the others. At the end, also when
 * `signal` aborts, everything that was started is removed; after an abort it throws the reason.
 */
export async function* runBenchmarks(
  benchmarks: Iterable<NamedBenchmark> | AsyncIterable<NamedBenchmark>,
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
  for await (const { name, benchmark } of benchmarks) {
    signal.throwIfAborted();
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
        // An interrupt from the keyboard ends the service at the same time; the rest is removed with its data folder.
        if (!signal.aborted) throw error;
      });
      // A stopped benchmark fails because its resources are gone; it may still be creating one, which it then undoes.
      await Promise.race([measured.catch(() => undefined), delay(STOP_MS, undefined, { ref: false })]);
    }
  }
}
