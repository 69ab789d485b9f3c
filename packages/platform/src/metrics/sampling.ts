import type { Instance, Usage } from '@skerry/runtime';
import { type Clock, passTime } from '../clock.ts';
import type { Log } from '../log.ts';
import { createExpiry } from '../sandboxes/expiry.ts';
import type { MetricRow } from '../store/metric-store.ts';
import type { SandboxRow, Store } from '../store/store.ts';
import { SAMPLE_MS, thin, toGrain, toOutdated, toStep } from './grain.ts';

/** What sandboxes use: sampled while they run, kept for a while, and read at once. */
export interface Sampling {
  /** Samples a running sandbox from here on. */
  begin(row: Pick<SandboxRow, 'id' | 'cpuCount'>, instance: Pick<Instance, 'usage'>): void;
  /** No more samples; those that were taken stay. */
  end(id: string): void;
  /** What it uses now, as of a second ago at most. Undefined when it does not run; rejects when the runtime cannot say. */
  measure(id: string): Promise<MetricRow | undefined>;
  /** Samples between two moments, both included, further apart the longer that is. */
  list(id: string, window: { from: number; to: number }): Promise<MetricRow[]>;
  /** The last one, if there is one. */
  latest(id: string): Promise<MetricRow | undefined>;
  /** Forgets what is too old or too fine to keep. */
  prune(): Promise<void>;
  /** Stops, and writes what was not written yet. */
  close(): Promise<void>;
}

export interface SamplingOptions {
  store: Pick<Store, 'addMetrics' | 'listMetrics' | 'findLatestMetric' | 'deleteMetrics'>;
  clock: Clock;
  log: Log;
}

interface Reading extends Usage {
  at: number;
  /** On a clock that nobody sets. */
  elapsedMs: number;
}

interface Sampled {
  readonly id: string;
  readonly cpuCount: number;
  readonly instance: Pick<Instance, 'usage'>;
  reading: Reading | undefined;
  sample: MetricRow | undefined;
  sampledMs: number;
  /** The measurement that is under way; several callers share it. */
  measuring: Promise<MetricRow> | undefined;
}

/** Samples are written together: one sync of the disk for all of them. */
const WRITE_MS = 30_000;
/** More than this many wait for nothing but the disk; the oldest are given up. */
const MAX_UNWRITTEN = 100_000;
/** A share of the processors needs two readings this far apart. */
const MIN_APART_MS = 250;
/** Nobody makes this process read more often, least of all a sandbox that asks about itself. */
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
 * Samples each running sandbox every 5 s with one reading, spread over that time, and writes all samples twice a minute. With
 * no sandbox running no timer runs.
 */
export const createSampling = ({ store, clock, log }: SamplingOptions): Sampling => {
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
      // The first turn only begins: a share of the processors needs a reading before.
      if (one.reading === undefined) one.reading = await read(one);
      else await measure(id);
    } catch (error) {
      // It ends this moment, or the runtime is away for one.
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
      // Those that begin together, as after a restart of this process, are spread over the time between two samples.
      wheel.schedule(id, clock.elapsed() + Math.random() * SAMPLE_MS);
    },
    end: (id) => {
      sampled.delete(id);
      wheel.cancel(id);
    },
    measure,
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
