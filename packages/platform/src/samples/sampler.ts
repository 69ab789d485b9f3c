import type { Instance, Usage } from '@skerry/runtime';
import { type Clock, passTime } from '../clock.ts';
import { createExpiry } from '../expiry.ts';
import type { Log } from '../log.ts';
import type { MetricRow } from '../store/metric-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { SAMPLE_MS, thin, toGrain, toOutdated, toStep } from './grain.ts';

/** The resource usage of sandboxes: sampled while they run, kept for a while, and measured on request. */
export interface Sampler {
  /** Starts sampling a running sandbox. */
  begin(row: Pick<SandboxRow, 'id' | 'cpuCount'>, instance: Pick<Instance, 'usage'>): void;
  /** Stops sampling; existing samples stay. */
  end(id: string): void;
  /**
   * Measures the usage of a sandbox; a result is at most a second old. Resolves with undefined when the
   * sandbox does not run; rejects when the runtime cannot measure it.
   */
  measure(id: string): Promise<MetricRow | undefined>;
  /** The processes that the kernel has killed at the memory limit, as of the last reading; undefined where they are not counted. */
  oomKills(id: string): number | undefined;
  /** Samples between two moments, both included; the longer that time, the larger the interval. */
  list(id: string, window: { from: number; to: number }): Promise<MetricRow[]>;
  /** The last sample, if there is one. */
  latest(id: string): Promise<MetricRow | undefined>;
  /** Removes samples that are too old or too fine to keep. */
  prune(): Promise<void>;
  /** Stops, and writes the samples that are not written yet. */
  close(): Promise<void>;
}

export interface SamplerOptions {
  store: Pick<Store, 'addMetrics' | 'listMetrics' | 'findLatestMetric' | 'deleteMetrics'>;
  clock: Clock;
  log: Log;
}

interface Reading extends Usage {
  at: number;
  /** The time on a monotonic clock. */
  elapsedMs: number;
}

interface Sampled {
  readonly id: string;
  readonly cpuCount: number;
  readonly instance: Pick<Instance, 'usage'>;
  reading: Reading | undefined;
  sample: MetricRow | undefined;
  sampledMs: number;
  /** The measurement in progress; several callers share it. */
  measuring: Promise<MetricRow> | undefined;
}

/** Samples are written together: one sync of the disk for all of them. */
const WRITE_MS = 30_000;
/** The maximum number of unwritten samples; beyond it the oldest are dropped. */
const MAX_UNWRITTEN = 100_000;
/** Processor usage needs two readings this far apart. */
const MIN_APART_MS = 250;
/** The shortest interval between readings, however often callers or sandboxes ask. */
const FRESH_MS = 1_000;

const toSample = (
  { id, cpuCount, sample }: Sampled,
  { before, after }: { before: Reading; after: Reading },
): MetricRow => {
  const busyMs = Math.max(0, after.cpuTimeMs - before.cpuTimeMs);
  const share = busyMs / ((after.elapsedMs - before.elapsedMs) * cpuCount);
  return {
    sandboxId: id,
    at: after.at,
    grain: toGrain(after.at, sample?.at),
    cpuUsedPct: Math.min(100, Math.round(share * 10_000) / 100),
    memoryBytes: after.memoryBytes,
    cacheBytes: after.cacheBytes,
    diskBytes: after.diskBytes,
  };
};

/**
 * Samples each running sandbox every 5 s with one reading, spread over that time, and writes all samples twice a
 * minute. While no sandbox runs, no timer runs.
 */
export const createSampler = ({ store, clock, log }: SamplerOptions): Sampler => {
  const sampled = new Map<string, Sampled>();
  let unwritten: MetricRow[] = [];
  let writing = Promise.resolve();
  let cancelWrite: (() => void) | undefined;
  const wheel = createExpiry({
    clock: { now: clock.elapsed, after: clock.after },
    onDue: (id) => void takeTurn(id),
  });

  const write = (): Promise<void> => {
    cancelWrite?.();
    cancelWrite = undefined;
    const rows = unwritten;
    unwritten = [];
    if (rows.length > 0) {
      writing = writing
        .then(() => store.addMetrics(rows))
        .catch((error) =>
          log.error('samples could not be written and are lost', { rows: rows.length, error }),
        );
    }
    return writing;
  };

  const keep = (sample: MetricRow): void => {
    unwritten.push(sample);
    if (unwritten.length > MAX_UNWRITTEN) unwritten = unwritten.slice(-MAX_UNWRITTEN / 2);
    cancelWrite ??= clock.after(WRITE_MS, () => void write());
  };

  const read = async ({ instance }: Sampled): Promise<Reading> => ({
    ...(await instance.usage()),
    at: clock.now(),
    elapsedMs: clock.elapsed(),
  });

  const measureNow = async (one: Sampled): Promise<MetricRow> => {
    let before = one.reading;
    if (before === undefined || clock.elapsed() - before.elapsedMs < MIN_APART_MS) {
      before ??= await read(one);
      await passTime(clock, MIN_APART_MS);
    }
    const after = await read(one);
    one.reading = after;
    const sample = toSample(one, { before, after });
    one.sample = sample;
    one.sampledMs = after.elapsedMs;
    if (sampled.get(one.id) === one) keep(sample);
    return sample;
  };

  const measure = async (id: string): Promise<MetricRow | undefined> => {
    const one = sampled.get(id);
    if (one === undefined) return undefined;
    if (one.sample !== undefined && clock.elapsed() - one.sampledMs < FRESH_MS) return one.sample;
    one.measuring ??= measureNow(one).finally(() => {
      one.measuring = undefined;
    });
    return one.measuring;
  };

  const takeTurn = async (id: string): Promise<void> => {
    const one = sampled.get(id);
    if (one === undefined) return;
    wheel.schedule(id, clock.elapsed() + SAMPLE_MS);
    try {
      // The first reading only starts the measurement: processor usage needs an earlier one.
      if (one.reading === undefined) one.reading = await read(one);
      else await measure(id);
    } catch (error) {
      // The sandbox is ending, or the runtime is not available for a moment.
      log.debug('a sandbox could not be sampled', { sandboxId: id, error });
    }
  };

  return {
    begin: ({ id, cpuCount }, instance) => {
      sampled.set(id, {
        id,
        cpuCount,
        instance,
        reading: undefined,
        sample: undefined,
        sampledMs: 0,
        measuring: undefined,
      });
      // Sandboxes that begin together, as after a restart of this process, are spread over the time between two
      // samples.
      wheel.schedule(id, clock.elapsed() + Math.random() * SAMPLE_MS);
    },
    end: (id) => {
      sampled.delete(id);
      wheel.cancel(id);
    },
    measure,
    oomKills: (id) => sampled.get(id)?.reading?.oomKills,
    list: async (id, { from, to }) => {
      await write();
      const { stepMs, grain } = toStep(to - from);
      return thin(await store.listMetrics({ sandboxId: id, from, to, grain }), stepMs);
    },
    latest: async (id) => {
      const sample = sampled.get(id)?.sample;
      if (sample !== undefined) return sample;
      await write();
      return store.findLatestMetric(id);
    },
    prune: () => store.deleteMetrics(toOutdated(clock.now())),
    close: async () => {
      sampled.clear();
      wheel.close();
      await write();
    },
  };
};
