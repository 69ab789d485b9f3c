import { requireOwned, type Writer, writeFenced } from './leases/fence.ts';
import type { WarmRow } from './rows.ts';
import type { Database } from './schema.ts';

const select = (db: Database) => db.selectFrom('warmInstances').selectAll();

/** Instances that were started in advance and belong to no sandbox yet, in portable SQL. */
export const createWarmQueries = (db: Database, writer: Writer) => ({
  /** Written before the instance is made. */
  addWarm: (warm: WarmRow): Promise<void> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwned(tx, warm.node, writer),
      write: async (tx) => {
        await tx.insertInto('warmInstances').values(warm).execute();
      },
    }),

  /** Call when the instance is removed; `reserveSandbox` removes the row when a sandbox takes the instance. */
  removeWarm: (id: string): Promise<void> =>
    writeFenced(db, writer, {
      require: async (tx) => {
        const row = await select(tx).where('id', '=', id).executeTakeFirst();
        await requireOwned(tx, row?.node, writer);
      },
      write: async (tx) => {
        await tx.deleteFrom('warmInstances').where('id', '=', id).execute();
      },
    }),

  findWarm: (id: string): Promise<WarmRow | undefined> => select(db).where('id', '=', id).executeTakeFirst(),

  /** The oldest first. */
  listWarm: (): Promise<WarmRow[]> => select(db).orderBy('createdAt').orderBy('id').execute(),
});
