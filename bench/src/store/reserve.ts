import type { Store } from '@skerry/platform';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import type { Row } from '../report/row.ts';
import { toRow } from '../report/row.ts';
import { forEachNumber, openStores, reserve, withoutPostgres } from './stores.ts';

/** Reservations in a sample. */
const COUNT = 200;

/** Creates that are recorded in a second, with 1, 8 and 32 calls at a time, in PostgreSQL; the reference is SQLite, alternately. */
export const storeReserve: Benchmark = async ({ name, runs, scale, resources }) => {
  const stores = await openStores(resources);
  const rows: Row[] = [];
  for (const atATime of [1, 8, 32]) {
    const each = { name: `${name}.${atATime}`, unit: '1/s' };
    if (stores === undefined) {
      rows.push(withoutPostgres(each.name, each.unit));
      continue;
    }
    const rate = (store: Store) => () => sampleRate(store, COUNT * scale, atATime);
    const { samples, compared } = await samplePairs({
      warmUpRuns: 2,
      runs,
      measure: rate(stores.postgres),
      beside: rate(stores.sqlite),
    });
    rows.push(toRow({ ...each, samples, better: 'more', reference: { name: 'SQLite', samples: compared } }));
  }
  return rows;
};

/** Leaves no sandbox behind: each reservation counts those that have a place. */
async function sampleRate(store: Store, count: number, atATime: number): Promise<number> {
  const started = performance.now();
  await forEachNumber(count, atATime, (number) => reserve(store, `i${number}`, number));
  const tookMs = performance.now() - started;
  await forEachNumber(count, atATime, (number) =>
    store.changeState(`i${number}`, { from: ['starting'], to: 'ended', set: { endedAt: 1 } }),
  );
  await store.deleteEndedSandboxes(2);
  return (count * 1000) / tookMs;
}
