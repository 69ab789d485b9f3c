import type { DatabaseTime } from '../leases/lease-queries.ts';
import type { Database } from '../schema.ts';
import type { Sealer } from '../sealer.ts';
import type { FirstCall, KeptAnswer, KeyedCall } from './idempotency-rows.ts';

export interface IdempotencyOptions {
  time: DatabaseTime;
  sealer: Sealer;
  owner?: string;
}

/** Calls with an `Idempotency-Key` and their answers, which hold tokens and are encrypted, in portable SQL. */
export const createIdempotencyQueries = (db: Database, { time, sealer, owner }: IdempotencyOptions) => ({
  /** Records a call before it acts. Resolves with the first call of that id when there is one; then nothing is written. */
  beginCall: async (call: KeyedCall): Promise<'begun' | FirstCall> => {
    for (;;) {
      const begun = await db
        .insertInto('keyedCalls')
        .values({ ...call, answer: null, owner: owner ?? null })
        .onConflict((on) => on.column('id').doNothing())
        .returning('id')
        .executeTakeFirst();
      if (begun !== undefined) return 'begun';
      const row = await db
        .selectFrom('keyedCalls')
        .select(['id', 'fingerprint', 'createdAt', 'answer'])
        .select(({ exists, selectFrom }) =>
          exists(
            selectFrom('leases')
              .select('name')
              .whereRef('leases.owner', '=', 'keyedCalls.owner')
              .where('leases.owner', '!=', owner ?? '')
              .where('leases.expiresAt', '>', time()),
          ).as('isElsewhere'),
        )
        .where('id', '=', call.id)
        .executeTakeFirst();
      // Undefined: it has been forgotten since, so this call may be the first.
      if (row !== undefined) return { ...row, isElsewhere: row.answer === null && Boolean(row.isElsewhere) };
    }
  },

  keepAnswer: async (id: string, answer: KeptAnswer): Promise<void> => {
    await db
      .updateTable('keyedCalls')
      .set({ answer: sealer.seal(answer, 'answer') })
      .where('id', '=', id)
      .execute();
  },

  /** Removes a call that has changed nothing, so that the next one with its key is the first. */
  forgetCall: async (id: string): Promise<void> => {
    await db.deleteFrom('keyedCalls').where('id', '=', id).execute();
  },

  /** Removes the calls that began before that time, and of the others all but the newest. */
  pruneCalls: async ({ before, keep }: { before: number; keep: number }): Promise<void> => {
    await db.deleteFrom('keyedCalls').where('createdAt', '<', before).execute();
    const last = await db
      .selectFrom('keyedCalls')
      .select('createdAt')
      .orderBy('createdAt', 'desc')
      .offset(keep)
      .limit(1)
      .executeTakeFirst();
    if (last !== undefined)
      await db.deleteFrom('keyedCalls').where('createdAt', '<=', last.createdAt).execute();
  },
});
