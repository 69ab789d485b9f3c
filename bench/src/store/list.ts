import type { Store } from '@skerry/platform';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';
import { forEachNumber, openStores, reserve, withoutPostgres } from './stores.ts';

const SANDBOXES = 10_000;
const PAGE = 100;
const FILLED_AT_A_TIME = 8;
// Those of a list without a filter.
const listed = ['running', 'pausing', 'paused', 'resuming'] as const;

/**
 * Reading sandboxes from PostgreSQL when there are 10,000: a page of 100 at any place with the count, as the API does for a list,
 * and all of them. The reference is SQLite, alternately.
 */
export const storeList: Benchmark = async ({ name, runs, scale, resources }) => {
  const stores = await openStores(resources);
  const names = { page: `${name}.page`, all: `${name}.all` };
  if (stores === undefined) return Object.values(names).map((each) => withoutPostgres(each, 'ms'));
  const count = SANDBOXES * scale;
  for (const store of Object.values(stores)) await fill(store, count);

  const readPage = async (store: Store, run: number): Promise<void> => {
    // Steps through all places in an order that has no pattern.
    const at = (Math.abs(run) * 7_919) % count;
    await store.listSandboxes({
      states: listed,
      order: 'desc',
      limit: PAGE + 1,
      after: { startedAt: at, id: toId(at) },
    });
    await store.countSandboxes({ states: ['running'] });
  };
  const readAll = async (store: Store): Promise<void> => {
    const rows = await store.listSandboxes({ states: listed, order: 'desc' });
    if (rows.length !== count) throw new Error(`${rows.length} of ${count} sandboxes were listed`);
  };
  const measure = async (
    read: (store: Store, run: number) => Promise<void>,
  ): Promise<{ samples: number[]; reference: { name: string; samples: number[] } }> => {
    const timed = (store: Store) => async (run: number) => {
      const started = performance.now();
      await read(store, run);
      return performance.now() - started;
    };
    const { samples, compared } = await samplePairs({
      warmUpRuns: 3,
      runs: runs * 5,
      measure: timed(stores.postgres),
      beside: timed(stores.sqlite),
    });
    return { samples, reference: { name: 'SQLite', samples: compared } };
  };
  return [
    toRow({
      ...{ name: names.page, unit: 'ms', bound: { of: 'p95', atMost: 50 } },
      ...(await measure(readPage)),
    }),
    toRow({ name: names.all, unit: 'ms', ...(await measure(readAll)) }),
  ];
};

const toId = (number: number): string => `i${String(number).padStart(19, '0')}`;

async function fill(store: Store, count: number): Promise<void> {
  await forEachNumber(count, FILLED_AT_A_TIME, async (number) => {
    const id = toId(number);
    await reserve(store, id, number);
    await store.changeState(id, { from: ['starting'], to: 'running', set: { runId: id, startedAt: number } });
  });
}
