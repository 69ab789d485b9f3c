import { describe, expect, it } from 'vitest';
import type { NewLogEntry } from '../log-rows.ts';
import type { MetricRow } from '../metric-rows.ts';
import type { StateChange } from '../rows.ts';
import { EVERYTHING } from '../scope.ts';
import type { Store } from '../store.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);

const metric = (at: number, grain = 0): MetricRow => ({
  sandboxId: 'i1',
  at,
  grain,
  cpuUsedPct: 12.34,
  memoryBytes: 2 ** 40,
  cacheBytes: 2,
  diskBytes: 3,
});

const entry = (at: number, more: Partial<NewLogEntry> = {}): NewLogEntry => ({
  sandboxId: 'i1',
  at,
  level: 'info',
  logger: 'process',
  message: `at ${at}`,
  fields: {},
  sizeBytes: 100,
  ...more,
});

/** How a store keeps metrics and logs of sandboxes: a part of `describeStore`. */
export const describeObservations = (
  ask: () => Store,
  { run, reopen }: { run: (id: string) => Promise<unknown>; reopen: () => Promise<Store> },
): void => {
  const end = async (id: string): Promise<void> => {
    await ask().changeState(id, { from: ['running'], to: 'ended', set: { endedAt: start } });
    await ask().deleteEndedSandboxes(start + 1);
  };

  describe('metrics', () => {
    it('returns samples of a window and a grain, also after a restart, and stores each once', async () => {
      await run('i1');
      await run('i2');
      const rows = Array.from({ length: 1_200 }, (_, index) => metric(start + index, index % 3));
      await ask().addMetrics(rows);
      await ask().addMetrics([
        { ...metric(start), memoryBytes: 1 },
        { ...metric(start), sandboxId: 'i2' },
      ]);
      const store = await reopen();
      const list = (from: number, to: number, grain: number) =>
        store.listMetrics({ sandboxId: 'i1', from, to, grain });
      expect(await list(0, start + day, 0)).toEqual(rows);
      expect(await list(start + 1, start + 4, 1)).toEqual([rows[1], rows[2], rows[4]]);
      expect(await store.findLatestMetric('i1')).toEqual(rows.at(-1));
      expect(await store.findLatestMetric('i3')).toBeUndefined();
    });

    it('counts the sandboxes with a sample, and those created, in each step of a window', async () => {
      for (const id of ['i1', 'i2', 'i3']) await run(id);
      const rows = [
        { ...metric(start, 2), sandboxId: 'i1' },
        { ...metric(start + 5_000), sandboxId: 'i1' },
        { ...metric(start + 29_999), sandboxId: 'i2' },
        { ...metric(start + 30_000), sandboxId: 'i3' },
        { ...metric(start + 60_000), sandboxId: 'i3' },
      ];
      await ask().addMetrics(rows);
      const first = start / 30_000;
      const window = { from: start, to: start + 60_000, stepMs: 30_000 };
      const sampled = [
        [first, 2],
        [first + 1, 1],
      ] as const;
      expect(await ask().countSampled({ scope: EVERYTHING, ...window, grain: 0 })).toEqual(new Map(sampled));
      expect(await ask().countSampled({ scope: EVERYTHING, ...window, grain: 1 })).toEqual(
        new Map([[first, 1]]),
      );
      const createdAt = (await ask().findSandbox('i1'))?.createdAt ?? 0;
      const created = { from: createdAt, to: createdAt + 1, stepMs: 1_000 };
      expect([...(await ask().countCreated({ scope: EVERYTHING, ...created }))]).toEqual([
        [Math.floor(createdAt / 1_000), 3],
      ]);
      expect([
        ...(await ask().countCreated({
          scope: EVERYTHING,
          ...created,
          from: createdAt + 1,
          to: createdAt + 9,
        })),
      ]).toEqual([]);
    });

    it('removes samples by age and grain, and with their sandbox', async () => {
      await run('i1');
      await ask().addMetrics([metric(start, 0), metric(start + 1, 1), metric(start + 2, 0)]);
      await ask().deleteMetrics([
        { grain: 0, before: start + 2 },
        { grain: 2, before: start + day },
      ]);
      const all = { sandboxId: 'i1', from: 0, to: start + day, grain: 0 };
      expect((await ask().listMetrics(all)).map(({ at }) => at)).toEqual([start + 1, start + 2]);
      await end('i1');
      expect(await ask().listMetrics(all)).toEqual([]);
    });
  });

  describe('logs', () => {
    const source = (seq: number, sandboxId = 'i1') => ({ sandboxId, origin: 'a', seq });
    const listAll = (query: Partial<Parameters<Store['listLogEntries']>[0]> = {}) =>
      ask().listLogEntries({ sandboxId: 'i1', order: 'asc', limit: 1000, ...query });
    /** Lists entries without those of the store itself, which are of this day. */
    const list = async (query?: Parameters<typeof listAll>[0]) =>
      (await listAll(query)).filter(({ at }) => at < start + day);
    const messages = async (query?: Parameters<typeof list>[0]) =>
      (await list(query)).map(({ message }) => message);

    it('returns every field, in either order, and the position, also after a restart', async () => {
      await run('i1');
      await run('i2');
      const first = entry(start, { fields: { 'a"b': 'ä\n\\', logger: '' }, level: 'error' });
      const second = entry(start, { message: 'at the same moment' });
      await ask().addLogEntries([first, entry(start + 1), second], [source(3)]);
      await ask().addLogEntries([entry(start, { sandboxId: 'i2' })], [source(1, 'i2')]);
      const store = await reopen();
      const query = { sandboxId: 'i1', cursor: start, limit: 2 } as const;
      const { at, level, logger, message, fields } = first;
      expect((await store.listLogEntries({ ...query, order: 'asc' })).slice(0, 2)).toEqual([
        { at, level, logger, message, fields },
        expect.objectContaining({ message: 'at the same moment' }),
      ]);
      const newest = await store.listLogEntries({ ...query, cursor: start + 1, order: 'desc' });
      expect(newest.map(({ at }) => at)).toEqual([start + 1, start, start]);
      expect(await store.findLogSource('i1')).toEqual(source(3));
      expect(await store.findLogSource('i3')).toBeUndefined();
    });

    it('are paged by time so that callers who continue at a millisecond or after it miss nothing and come to an end', async () => {
      await run('i1');
      const times = [0, 1, 1, 1, 2, 3, 3].map((offset) => start + offset);
      await ask().addLogEntries(
        times.map((at, index) => entry(at, { message: `${index}` })),
        [source(times.length)],
      );
      const page = async (query: Parameters<typeof list>[0]) => (await messages(query)).join('');
      expect(await page({ limit: 1 })).toBe('0');
      expect(await page({ limit: 2 })).toBe('0123');
      expect(await page({ limit: 4 })).toBe('0123');
      expect(await page({ limit: 1, cursor: start + 1 })).toBe('1234');
      expect(await page({ limit: 3, cursor: start + 1 })).toBe('1234');
      expect(await page({ limit: 4, cursor: start + 1 })).toBe('1234');
      expect(await page({ limit: 1, cursor: start + 3 })).toBe('56');
      expect(await page({ limit: 1, cursor: start + 4 })).toBe('');
      expect(await page({ limit: 0 })).toBe('');
      expect(await page({ limit: 1, order: 'desc', cursor: start + day })).toBe('65');
      expect(await page({ limit: 2, order: 'desc', cursor: start + 1 })).toBe('3210');
      expect(await page({ limit: 3, order: 'desc', cursor: start + 1 })).toBe('3210');
      expect(await page({ limit: 9, order: 'desc', cursor: start })).toBe('0');
    });

    it('filters by level, and by a case-sensitive part of message or fields', async () => {
      await run('i1');
      const fields = { cmd: 'grep "100%_x"' };
      await ask().addLogEntries(
        [
          entry(start, { level: 'debug', message: 'Quiet' }),
          entry(start + 1, { level: 'warn', message: 'loud', fields }),
          entry(start + 2, { level: 'error', message: "it's" }),
        ],
        [source(3)],
      );
      expect(await messages({ level: 'warn' })).toEqual(['loud', "it's"]);
      expect(await messages({ search: 'Qui' })).toEqual(['Quiet']);
      expect(await messages({ search: 'qui' })).toEqual([]);
      expect(await messages({ search: 'grep "100%_' })).toEqual(['loud']);
      expect(await messages({ search: '%' })).toEqual(['loud']);
      expect(await messages({ search: "'" })).toEqual(["it's"]);
    });

    it('removes old entries and, of agents, entries beyond the size limit; and all entries with their sandbox', async () => {
      await run('i1');
      await run('i2');
      const flood = Array.from({ length: 1_000 }, (_, index) => entry(start + index, { logger: 'x' }));
      await ask().addLogEntries(
        [...flood, entry(start, { logger: 'platform', message: 'kept', sizeBytes: 0 })],
        [source(1_000)],
      );
      await ask().addLogEntries([entry(start + 5_000, { sandboxId: 'i2' })], [source(1, 'i2')]);
      const limits = { before: start, maxBytesOfSandbox: 30_000, maxBytes: 1e9 };
      await ask().deleteLogEntries(limits);
      const left = await list();
      expect(left).toHaveLength(301);
      expect(left[0]?.message).toBe('kept');
      expect(left.at(-1)).toMatchObject({ at: start + 999 });
      await ask().deleteLogEntries({ ...limits, maxBytes: 100 });
      expect(await messages()).toEqual(['kept']);
      expect(await messages({ sandboxId: 'i2' })).toHaveLength(1);
      await ask().deleteLogEntries({ ...limits, before: start + 1 });
      expect(await messages()).toEqual([]);
      // Removed entries no longer count.
      await ask().addLogEntries([entry(start + 9)], [source(1_001)]);
      await ask().deleteLogEntries({ ...limits, maxBytesOfSandbox: 100 });
      expect(await messages()).toHaveLength(1);
      await end('i1');
      expect(await messages()).toEqual([]);
    });

    it('writes an entry together with a change of state, and none for a change that did not happen', async () => {
      await run('i1');
      const change = (more: StateChange) => ask().changeState('i1', more);
      const set = { pausedAt: start, pausedWith: 'memory' } as const;
      await change({ from: ['running'], to: 'pausing', set });
      await change({ from: ['pausing'], to: 'paused' });
      await change({ from: ['running'], to: 'killing', set: { cause: 'expired' } });
      await change({ from: ['paused'], to: 'resuming' });
      await change({ from: ['resuming'], to: 'paused' });
      await change({ from: ['paused'], to: 'resuming' });
      await change({ from: ['resuming'], to: 'running', set: { pausedAt: null, pausedWith: null } });
      await change({ from: ['running', 'paused'], to: 'killing', set: { cause: 'lost' } });
      await change({ from: ['killing'], to: 'ended', set: { endedAt: start } });
      const told = await listAll();
      expect(told.map(({ level, message }) => `${level}: ${message}`)).toEqual([
        'info: sandbox started',
        'info: sandbox paused',
        'warn: sandbox could not be resumed and stays paused',
        'info: sandbox resumed',
        'error: sandbox was lost: its host no longer had it',
      ]);
      expect(told[1]).toMatchObject({ logger: 'platform', fields: { kept: 'memory' } });
      expect(told.at(-1)?.fields).toEqual({ cause: 'lost' });
    });
  });
};
