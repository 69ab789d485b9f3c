import { controlPaths, type SandboxUsage } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { createLogCollection, type LogCollection } from '../logs/log-collection.ts';
import { createSampler, type Sampler } from '../samples/sampler.ts';
import type { MetricRow } from '../store/metric-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { postToAgent } from './agent.ts';

/** Collects metrics and logs of sandboxes while they run. */
export interface Observation {
  readonly sampler: Sampler;
  readonly logCollection: LogCollection;
  /** Starts observing a running sandbox. */
  begin(row: SandboxRow, instance: Instance): void;
  /** Stops observing, and fetches the remaining log entries. */
  end(id: string): void;
  /** Resolves when those are fetched, or soon when that is impossible. Never rejects. */
  fetched(id: string): Promise<void>;
  /** Removes samples and entries that are too old or exceed the limits. */
  prune(): Promise<void>;
  /** Stops observing, and writes the samples and entries that are not written yet. */
  close(): Promise<void>;
}

const MIB = 2 ** 20;
const ANSWER_MS = 5_000;

const toUsage = (metric: MetricRow, row: SandboxRow, oomKills: number | undefined): SandboxUsage => ({
  timestampMs: metric.at,
  cpuCount: row.cpuCount,
  cpuUsedPct: metric.cpuUsedPct,
  memoryTotalBytes: row.memoryMb * MIB,
  memoryUsedBytes: metric.memoryBytes,
  memoryCacheBytes: metric.cacheBytes,
  diskTotalBytes: row.diskMb * MIB,
  diskUsedBytes: metric.diskBytes,
  ...(oomKills === undefined ? {} : { oomKills }),
});

export const createObservation = (options: { store: Store; clock: Clock; log: Log }): Observation => {
  const sampler = createSampler(options);
  const logCollection = createLogCollection({
    ...options,
    answerUsage: async (row, instance) => {
      const metric = await sampler.measure(row.id);
      if (metric === undefined) return;
      const signal = AbortSignal.timeout(ANSWER_MS);
      const body = toUsage(metric, row, sampler.oomKills(row.id));
      await postToAgent(instance, { path: controlPaths.usage, body }, { signal });
    },
  });
  return {
    sampler,
    logCollection,
    begin: (row, instance) => {
      sampler.begin(row, instance);
      logCollection.begin(row, instance);
    },
    end: (id) => {
      sampler.end(id);
      logCollection.end(id);
    },
    fetched: (id) => logCollection.fetched(id),
    prune: async () => {
      await sampler.prune();
      await logCollection.prune();
    },
    close: async () => {
      await sampler.close();
      await logCollection.close();
    },
  };
};
