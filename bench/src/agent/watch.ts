import { EventType } from '@skerry/envd-client/filesystem';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';
import { type BenchSandbox, startBenchSandbox } from './agent.ts';

const FOLDERS = 10_000;
const RUNS = 3;
/** Events that have not arrived by then count as lost. */
const DEADLINE_MS = 60_000;

/**
 * A recursive watch over 10,000 folders: the time until it is active; then one file is created in each folder, as fast
 * as a program can, and the reported ones are counted.
 */
export const agentWatch: Benchmark = async (context) => {
  const { name, scale } = context;
  const count = Math.round(FOLDERS * scale);
  const sandbox = await startBenchSandbox(context);
  const folders = `seq -f '/home/user/tree/%05g' ${count} | sed 's/..$/\\/&/'`;
  await sandbox.run(`${folders} | xargs mkdir -p`);
  const starts: number[] = [];
  const shares: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const { startMs, seen } = await watchOnce(sandbox, {
      count,
      script: `${folders} | sed 's/$/\\/${run}/' | xargs touch`,
    });
    starts.push(startMs);
    shares.push((100 * seen) / count);
  }
  return [
    toRow({ name: `${name}.start`, unit: 'ms', samples: starts }),
    toRow({
      name: `${name}.seen`,
      unit: '%',
      samples: shares,
      better: 'more',
      bound: { of: 'p50', atLeast: 100 },
    }),
  ];
};

async function watchOnce(
  { client, run }: BenchSandbox,
  { count, script }: { count: number; script: string },
): Promise<{ startMs: number; seen: number }> {
  const stop = new AbortController();
  const deadline = setTimeout(() => stop.abort(), DEADLINE_MS);
  const startedMs = performance.now();
  let startMs = 0;
  const seen = new Set<string>();
  try {
    const watched = client.filesystem.watchDir(
      { path: '/home/user/tree', recursive: true },
      { signal: stop.signal },
    );
    let writing: Promise<void> | undefined;
    for await (const { event } of watched) {
      if (event.case === 'start') {
        startMs = performance.now() - startedMs;
        writing = run(script);
        writing.catch(() => stop.abort());
      }
      if (event.case === 'filesystem' && event.value.type === EventType.CREATE) seen.add(event.value.name);
      if (seen.size === count) break;
    }
    await writing;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    clearTimeout(deadline);
    stop.abort();
  }
  return { startMs, seen: seen.size };
}
