import { setImmediate } from 'node:timers/promises';
import type { Usage } from '@skerry/runtime';
import { describe, expect, it } from 'vitest';
import type { MetricRow } from '../store/metric-rows.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createSampler } from './sampler.ts';

const start = () => {
  const { clock, advance, setBack, timers } = createManualClock();
  const rows: MetricRow[] = [];
  const writes: number[] = [];
  let deleted: readonly { grain: number; before: number }[] = [];
  const silent = (): void => {};
  const sampler = createSampler({
    clock,
    store: {
      addMetrics: async (added) => {
        writes.push(added.length);
        rows.push(...added);
      },
      listMetrics: async ({ sandboxId, from, to, grain }) =>
        rows.filter(
          (row) => row.sandboxId === sandboxId && row.at >= from && row.at <= to && row.grain >= grain,
        ),
      findLatestMetric: async (id) => rows.findLast(({ sandboxId }) => sandboxId === id),
      deleteMetrics: async (limits) => {
        deleted = limits;
      },
    },
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  /** In steps, so that pending readings can continue meanwhile. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      advance(50);
      await setImmediate();
    }
  };
  return { clock, sampler, rows, writes, timers, pass, setBack, deleted: () => deleted };
};

/** Uses a given number of its processors all the time. */
const busy = (clock: { elapsed(): number; now(): number }, cpus: number) => {
  const begun = clock.elapsed();
  const readings: number[] = [];
  return {
    readings,
    usage: async (): Promise<Usage> => {
      readings.push(clock.now());
      const cpuTimeMs = 700 + (clock.elapsed() - begun) * cpus;
      return {
        cpuTimeMs,
        memoryBytes: 1000,
        cacheBytes: 200,
        diskBytes: 30,
        freeDiskBytes: 70,
        processCount: 4,
      };
    },
  };
};

describe('sampling', () => {
  it('reads each sandbox once in five seconds and reports which share of its processors was busy', async () => {
    const { clock, sampler, pass } = start();
    const instance = busy(clock, 0.5);
    const from = clock.now();
    sampler.begin({ id: 'i1', cpuCount: 2 }, instance);
    await pass(30_000);
    const rows = await sampler.list('i1', { from, to: clock.now() });
    expect(rows.length).toBeGreaterThanOrEqual(4);
    expect(instance.readings.length).toBe(rows.length + 1);
    for (const row of rows)
      expect(row).toMatchObject({
        sandboxId: 'i1',
        cpuUsedPct: 25,
        memoryBytes: 1000,
        cacheBytes: 200,
        diskBytes: 30,
      });
    const gaps = rows.slice(1).map(({ at }, index) => at - (rows[index]?.at ?? 0));
    for (const gap of gaps) expect(Math.abs(gap - 5_000)).toBeLessThanOrEqual(250);
    expect(rows[0]?.at).toBeLessThan(from + 11_000);
  });

  it('spreads sandboxes that begin together over the time between two samples', async () => {
    const { clock, sampler, pass } = start();
    const instances = Array.from({ length: 100 }, () => busy(clock, 1));
    for (const [index, instance] of instances.entries())
      sampler.begin({ id: `i${index}`, cpuCount: 1 }, instance);
    await pass(5_250);
    const turns = Map.groupBy(instances, ({ readings }) => Math.floor((readings[0] ?? 0) / 250));
    expect(turns.size).toBeGreaterThan(10);
    for (const together of turns.values()) expect(together.length).toBeLessThan(25);
  });

  it('writes all samples together, twice a minute, and the rest when it is closed', async () => {
    const { clock, sampler, rows, writes, timers, pass } = start();
    for (let index = 0; index < 10; index += 1)
      sampler.begin({ id: `i${index}`, cpuCount: 1 }, busy(clock, 1));
    await pass(90_000);
    expect(writes.length).toBeGreaterThanOrEqual(2);
    expect(writes.length).toBeLessThanOrEqual(3);
    const written = rows.length;
    expect(written).toBeGreaterThan(100);
    await sampler.close();
    expect(rows.length).toBeGreaterThan(written);
    expect(timers.size).toBe(0);
  });

  it('measures at once on request, also right after the start, and never twice in a second', async () => {
    const { clock, sampler, pass } = start();
    const instance = busy(clock, 1);
    sampler.begin({ id: 'i1', cpuCount: 1 }, instance);
    const asked = [sampler.measure('i1'), sampler.measure('i1')];
    await pass(300);
    const [first, second] = await Promise.all(asked);
    expect(first).toBe(second);
    expect(first).toMatchObject({ cpuUsedPct: 100 });
    const count = instance.readings.length;
    expect(await sampler.measure('i1')).toBe(first);
    expect(instance.readings.length).toBe(count);
    await pass(1_000);
    expect((await sampler.measure('i1'))?.at).toBeGreaterThan((first?.at ?? 0) + 999);
    expect(await sampler.measure('i2')).toBeUndefined();
  });

  it('ignores a clock that is set back', async () => {
    const { clock, sampler, rows, pass, setBack } = start();
    sampler.begin({ id: 'i1', cpuCount: 1 }, busy(clock, 0.5));
    await pass(12_000);
    setBack(3_600_000);
    await pass(30_000);
    await sampler.close();
    expect(rows.length).toBeGreaterThan(6);
    expect(new Set(rows.map(({ cpuUsedPct }) => cpuUsedPct))).toEqual(new Set([50]));
    expect(rows.at(-1)?.at).toBeLessThan(rows[0]?.at ?? 0);
  });

  it('continues after a failed reading, and stops with the sandbox', async () => {
    const { clock, sampler, pass } = start();
    const instance = busy(clock, 1);
    let fails = 2;
    const usage = async (): Promise<Usage> => {
      fails -= 1;
      if (fails >= 0) throw new Error('not available');
      return instance.usage();
    };
    sampler.begin({ id: 'i1', cpuCount: 1 }, { usage });
    await pass(25_000);
    expect(await sampler.latest('i1')).toMatchObject({ cpuUsedPct: 100 });
    sampler.end('i1');
    const count = instance.readings.length;
    await pass(20_000);
    expect(instance.readings.length).toBe(count);
    expect(await sampler.latest('i1')).toMatchObject({ cpuUsedPct: 100 });
  });

  it('removes old samples by grain', async () => {
    const { clock, sampler, deleted } = start();
    await sampler.prune();
    expect(deleted().map(({ before }) => clock.now() - before)).toEqual([3_600_000, 86_400_000, 604_800_000]);
  });
});
