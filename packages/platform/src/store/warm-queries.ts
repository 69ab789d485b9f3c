import type { Database } from './migrations.ts';
import type { WarmStore } from './store.ts';

/** The warm instance part of a store, in portable SQL. */
export const createWarmQueries = (db: Database): WarmStore => ({
  addWarm: async ({ id, spec, createdAt }) => {
    await db.insertInto('warm_instances').values({ id, spec, created_at: createdAt }).execute();
  },

  removeWarm: async (id) => {
    await db.deleteFrom('warm_instances').where('id', '=', id).execute();
  },

  listWarm: () =>
    db
      .selectFrom('warm_instances')
      .select(['id', 'spec', 'created_at as createdAt'])
      .orderBy('created_at')
      .orderBy('id')
      .execute(),
});
