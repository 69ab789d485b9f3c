import { sql } from 'kysely';
import type { MetricRow } from './metric-rows.ts';
import type { Database } from './schema.ts';
import { isOwned, type Scope } from './scope.ts';

/** Stays below the 32,766 parameters that SQLite allows in one statement, and blocks other queries only briefly. */
const ROWS_A_STATEMENT = 500;

interface CountedWindow {
  /** Whose sandboxes are counted. */
  scope: Scope;
  from: number;
  /** The end, which is not included. */
  to: number;
  grain: number;
  stepMs: number;
}

/** The samples of sandboxes, in portable SQL. */
export const createMetricQueries = (db: Database) => ({
  /** Writes samples of sandboxes whose rows exist. An existing sample of the same sandbox and moment stays. */
  addMetrics: async (rows: readonly MetricRow[]): Promise<void> => {
    for (let from = 0; from < rows.length; from += ROWS_A_STATEMENT)
      await db
        .insertInto('sandboxMetrics')
        .values(rows.slice(from, from + ROWS_A_STATEMENT))
        .onConflict((conflict) => conflict.columns(['sandboxId', 'at']).doNothing())
        .execute();
  },

  /** Samples between two moments, both included, of this grain or a coarser one, oldest first. */
  listMetrics: ({
    sandboxId,
    from,
    to,
    grain,
  }: {
    sandboxId: string;
    from: number;
    to: number;
    grain: number;
  }): Promise<MetricRow[]> =>
    db
      .selectFrom('sandboxMetrics')
      .selectAll()
      .where('sandboxId', '=', sandboxId)
      .where('at', '>=', from)
      .where('at', '<=', to)
      .where('grain', '>=', grain)
      .orderBy('at')
      .execute(),

  /** How many sandboxes have a sample in each step of a window, by the number of the step since 1970; steps without one are absent. */
  countSampled: async ({ scope, from, to, grain, stepMs }: CountedWindow): Promise<Map<number, number>> => {
    const step = sql<number>`${sql.ref('at')} / ${sql.lit(stepMs)}`;
    const rows = await db
      .selectFrom('sandboxMetrics')
      .$if(scope.project !== null, (query) =>
        query
          .innerJoin('sandboxes', 'sandboxes.id', 'sandboxMetrics.sandboxId')
          .where(isOwned('sandboxes.project', scope)),
      )
      .select((eb) => [step.as('step'), eb.fn.count('sandboxId').distinct().as('total')])
      .where('at', '>=', from)
      .where('at', '<', to)
      .where('grain', '>=', grain)
      .groupBy(step)
      .execute();
    return new Map(rows.map(({ step: number, total }) => [Number(number), Number(total)]));
  },

  /** How many sandboxes were created in each step of a window, as `countSampled`. */
  countCreated: async ({
    scope,
    from,
    to,
    stepMs,
  }: Omit<CountedWindow, 'grain'>): Promise<Map<number, number>> => {
    const step = sql<number>`${sql.ref('createdAt')} / ${sql.lit(stepMs)}`;
    const rows = await db
      .selectFrom('sandboxes')
      .select((eb) => [step.as('step'), eb.fn.countAll().as('total')])
      .where('createdAt', '>=', from)
      .where('createdAt', '<', to)
      .where(isOwned('sandboxes.project', scope))
      .groupBy(step)
      .execute();
    return new Map(rows.map(({ step: number, total }) => [Number(number), Number(total)]));
  },

  findLatestMetric: (sandboxId: string): Promise<MetricRow | undefined> =>
    db
      .selectFrom('sandboxMetrics')
      .selectAll()
      .where('sandboxId', '=', sandboxId)
      .orderBy('at', 'desc')
      .limit(1)
      .executeTakeFirst(),

  /** Removes the samples of a grain that are older than that. */
  deleteMetrics: async (limits: readonly { grain: number; before: number }[]): Promise<void> => {
    for (const { grain, before } of limits)
      await db.deleteFrom('sandboxMetrics').where('grain', '=', grain).where('at', '<', before).execute();
  },
});
