import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../migrations.ts';
import type { LeaseHolder, LeaseStore } from './lease-store.ts';

/** The time of the database, in milliseconds since the epoch. */
export type DatabaseTime = () => RawBuilder<number>;

const toTerm = (time: DatabaseTime, leaseMs: number) => ({
  renewed_at: time(),
  expires_at: sql<number>`${time()} + ${leaseMs}`,
});

/** Takes a lease in the transaction of the caller, as `takeLease` does. */
export const takeLease = async (
  db: Database,
  name: string,
  { owner, address, leaseMs, time }: LeaseHolder & { time: DatabaseTime },
): Promise<boolean> => {
  const lease = { owner, address, ...toTerm(time, leaseMs) };
  const taken = await db
    .insertInto('leases')
    .values({ name, ...lease })
    .onConflict((on) =>
      on
        .column('name')
        .doUpdateSet(lease)
        .where((eb) => eb.or([eb('leases.expires_at', '<=', time()), eb('leases.owner', '=', owner)])),
    )
    .returning('name')
    .executeTakeFirst();
  return taken !== undefined;
};

/** The leases of a store, in portable SQL. */
export const createLeaseQueries = (db: Database, time: DatabaseTime): LeaseStore => ({
  takeLease: (name, holder) => takeLease(db, name, { ...holder, time }),
  renewLeases: async ({ owner, leaseMs }) => {
    const held = await db
      .updateTable('leases')
      .set(toTerm(time, leaseMs))
      .where('owner', '=', owner)
      .returning('name')
      .execute();
    return held.map(({ name }) => name);
  },
  releaseLeases: async (owner, name) => {
    const mine = db.deleteFrom('leases').where('owner', '=', owner);
    await (name === undefined ? mine : mine.where('name', '=', name)).execute();
  },
  listLeases: () =>
    db
      .selectFrom('leases')
      .select(['name', 'owner', 'address', sql<number>`${time()} - renewed_at`.as('ageMs')])
      .where('expires_at', '>', time())
      .orderBy('name')
      .execute(),
});
