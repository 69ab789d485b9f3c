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
        .select(['id', 'caller', 'fingerprint', 'createdAt', 'answer'])
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

  /**
   * Removes the calls that began before that time, and of the answered ones of each caller all but the newest. Others stay: a repeat of
   * one that is in progress must not act again.
   */
  pruneCalls: async ({ before, keep }: { before: number; keep: number }): Promise<void> => {
    await db.deleteFrom('keyedCalls').where('createdAt', '<', before).execute();
    await db
      .deleteFrom('keyedCalls')
      .where('id', 'in', ({ selectFrom }) =>
        selectFrom(
          selectFrom('keyedCalls')
            .where('answer', 'is not', null)
            .select(({ fn }) => [
              'id',
              fn
                .agg<number>('row_number')
                .over((over) => over.partitionBy('caller').orderBy('createdAt', 'desc').orderBy('id'))
                .as('place'),
            ])
            .as('placed'),
        )
          .select('placed.id')
          .where('placed.place', '>', keep),
      )
      .execute();
  },
});
