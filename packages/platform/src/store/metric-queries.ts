import type { MetricRow, MetricStore } from './metric-store.ts';
import type { Database } from './migrations.ts';

/** Stays below the 32,766 parameters that SQLite allows in one statement, and blocks other queries only briefly. */
const ROWS_A_STATEMENT = 500;

const columns = [
  'sandbox_id as sandboxId',
  'at',
  'grain',
  'cpu_used_pct as cpuUsedPct',
  'memory_bytes as memoryBytes',
  'cache_bytes as cacheBytes',
  'disk_bytes as diskBytes',
] as const;

/** The metrics part of a store, in portable SQL. */
export const createMetricQueries = (db: Database): MetricStore => ({
  addMetrics: async (rows) => {
    for (let from = 0; from < rows.length; from += ROWS_A_STATEMENT) {
      const values = rows.slice(from, from + ROWS_A_STATEMENT).map((row) => ({
        sandbox_id: row.sandboxId,
        at: row.at,
        grain: row.grain,
        cpu_used_pct: row.cpuUsedPct,
        memory_bytes: row.memoryBytes,
        cache_bytes: row.cacheBytes,
        disk_bytes: row.diskBytes,
      }));
      await db
        .insertInto('sandbox_metrics')
        .values(values)
        .onConflict((conflict) => conflict.columns(['sandbox_id', 'at']).doNothing())
        .execute();
    }
  },

  listMetrics: ({ sandboxId, from, to, grain }): Promise<MetricRow[]> =>
    db
      .selectFrom('sandbox_metrics')
      .select(columns)
      .where('sandbox_id', '=', sandboxId)
      .where('at', '>=', from)
      .where('at', '<=', to)
      .where('grain', '>=', grain)
      .orderBy('at')
      .execute(),

  findLatestMetric: (sandboxId): Promise<MetricRow | undefined> =>
    db
      .selectFrom('sandbox_metrics')
      .select(columns)
      .where('sandbox_id', '=', sandboxId)
      .orderBy('at', 'desc')
      .limit(1)
      .executeTakeFirst(),

  deleteMetrics: async (limits) => {
    for (const { grain, before } of limits) {
      await db.deleteFrom('sandbox_metrics').where('grain', '=', grain).where('at', '<', before).execute();
    }
  },
});
