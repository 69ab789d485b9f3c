import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../schema.ts';
import type { LeaseHolder, LeaseRow } from './lease-rows.ts';

/** The time of the database, in milliseconds since the epoch. */
export type DatabaseTime = () => RawBuilder<number>;

const toTerm = (time: DatabaseTime, leaseMs: number) => ({
  renewedAt: time(),
  expiresAt: sql<number>`${time()} + ${leaseMs}`,
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
        .where((eb) => eb.or([eb('leases.expiresAt', '<=', time()), eb('leases.owner', '=', owner)])),
    )
    .returning('name')
    .executeTakeFirst();
  return taken !== undefined;
};

/**
 * The leases, by which several servers of one database decide which of them acts for what, and until when, in
 * portable SQL. Times are those of the database, so that the clocks of the servers do not matter.
 */
export const createLeaseQueries = (db: Database, time: DatabaseTime) => ({
  /** Takes a lease that is free, has expired or has that owner. Resolves with false when another owner has it. */
  takeLease: (name: string, holder: LeaseHolder) => takeLease(db, name, { ...holder, time }),

  /** Extends all leases of that owner, also expired ones that no other has taken, from now on. Resolves with their names. */
  renewLeases: async ({ owner, leaseMs }: Pick<LeaseHolder, 'owner' | 'leaseMs'>): Promise<string[]> => {
    const held = await db
      .updateTable('leases')
      .set(toTerm(time, leaseMs))
      .where('owner', '=', owner)
      .returning('name')
      .execute();
    return held.map(({ name }) => name);
  },

  /** Gives up the leases of that owner, or one of them. */
  releaseLeases: async (owner: string, name?: string): Promise<void> => {
    const mine = db.deleteFrom('leases').where('owner', '=', owner);
    await (name === undefined ? mine : mine.where('name', '=', name)).execute();
  },

  /** Lists the leases that have not expired, by name. */
  listLeases: (): Promise<LeaseRow[]> =>
    db
      .selectFrom('leases')
      .select(['name', 'owner', 'address', sql<number>`${time()} - ${sql.ref('renewedAt')}`.as('ageMs')])
      .where('expiresAt', '>', time())
      .orderBy('name')
      .execute(),
});
