import { requireOwned, type Writer, writeFenced } from './leases/fence.ts';
import type { Database } from './migrations.ts';
import type { WarmStore } from './store.ts';

/** The warm instance part of a store, in portable SQL. */
export const createWarmQueries = (db: Database, writer: Writer): WarmStore => {
  const rows = db.selectFrom('warm_instances').select(['id', 'spec', 'created_at as createdAt', 'node']);
  const find = (from: Database, id: string) =>
    from.selectFrom('warm_instances').select('node').where('id', '=', id).executeTakeFirst();
  return {
    addWarm: ({ id, spec, createdAt, node }) =>
      writeFenced(db, writer, {
        require: (tx) => requireOwned(tx, node, writer),
        write: async (tx) => {
          await tx.insertInto('warm_instances').values({ id, spec, created_at: createdAt, node }).execute();
        },
      }),

    removeWarm: (id) =>
      writeFenced(db, writer, {
        require: async (tx) => requireOwned(tx, (await find(tx, id))?.node, writer),
        write: async (tx) => {
          await tx.deleteFrom('warm_instances').where('id', '=', id).execute();
        },
      }),

    findWarm: (id) => rows.where('id', '=', id).executeTakeFirst(),

    listWarm: () => rows.orderBy('created_at').orderBy('id').execute(),
  };
};
