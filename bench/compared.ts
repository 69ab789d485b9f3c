// Started by `pnpm bench --against`, once in each of the two checkouts: starts the service of its own checkout, says so, and
// measures the benchmark that each message names. It ends when its parent disconnects.
import { on } from 'node:events';
import { benchmarks } from './src/benchmarks.ts';
import type { ComparedRow } from './src/compared-checkout.ts';
import { type NamedBenchmark, runBenchmarks } from './src/run-benchmarks.ts';

const [runs, scale] = process.argv.slice(2).map(Number) as [number, number];
const stop = new AbortController();
const end = () => stop.abort(new Error('the comparison has ended'));
// The parent receives the signals of a terminal too, and disconnects.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.once('disconnect', end);

async function* asked(): AsyncGenerator<NamedBenchmark> {
  const messages = on(process, 'message', { signal: stop.signal });
  process.send?.([]);
  for await (const [name] of messages as AsyncIterable<[string]>) {
    const benchmark = benchmarks[name];
    if (benchmark === undefined) throw new Error(`there is no benchmark ${name}`);
    yield { name, benchmark };
  }
}

try {
  for await (const outcome of runBenchmarks(asked(), {
    runs,
    scale,
    installsReferences: false,
    signal: stop.signal,
  })) {
    if ('error' in outcome) throw outcome.error;
    const rows: ComparedRow[] = outcome.rows.map(({ name, unit, p50, p95, n, bound }) => ({
      ...{ name, unit, p50, p95, n },
      ...(bound === undefined ? {} : { bound }),
    }));
    process.send?.(rows);
  }
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error);
    process.exitCode = 1;
  }
} finally {
  process.off('disconnect', end);
  if (process.connected) process.disconnect();
}
