import { logLevels } from '@skerry/contract/agent-control';
import type { ExpressionBuilder } from 'kysely';
import { PLATFORM_LOGGER } from './lifecycle-entry.ts';
import type { LogEntryRow, LogStore, NewLogEntry } from './log-store.ts';
import type { Database } from './migrations.ts';
import { readLogPage } from './read-log-page.ts';
import type { Schema } from './schema.ts';

const ROWS_A_STATEMENT = 500;

const toValues = (entry: NewLogEntry) => ({
  sandbox_id: entry.sandboxId,
  at: entry.at,
  level: logLevels.indexOf(entry.level),
  logger: entry.logger,
  message: entry.message,
  fields: JSON.stringify(entry.fields),
  size_bytes: entry.sizeBytes,
});

/** Writes entries, in the caller's transaction if there is one. */
export const insertLogEntries = async (db: Database, entries: readonly NewLogEntry[]): Promise<void> => {
  for (let from = 0; from < entries.length; from += ROWS_A_STATEMENT) {
    const values = entries.slice(from, from + ROWS_A_STATEMENT).map(toValues);
    await db.insertInto('sandbox_logs').values(values).execute();
  }
};

/** Compares both texts case-sensitively, which `like` does not. */
const contains = (text: string) => (eb: ExpressionBuilder<Schema, 'sandbox_logs'>) =>
  eb.or([
    eb(eb.fn<number>('instr', ['message', eb.val(text)]), '>', 0),
    // As JSON stores it between the quotes of the fields.
    eb(eb.fn<number>('instr', ['fields', eb.val(JSON.stringify(text).slice(1, -1))]), '>', 0),
  ]);

type StoredSize = { id: number; sandbox_id: string; size_bytes: number };

/** The oldest entries. */
const selectOldest = (db: Database) =>
  db
    .selectFrom('sandbox_logs')
    .select(['id', 'sandbox_id', 'size_bytes'])
    .orderBy('at')
    .orderBy('id')
    .limit(ROWS_A_STATEMENT);

const dropOutdated = async (db: Database, before: number): Promise<void> => {
  for (;;) {
    const rows = await selectOldest(db).where('at', '<', before).execute();
    if (rows.length === 0) return;
    await forget(db, rows);
  }
};

/** Removes the oldest entries of agents until so many bytes are freed. Entries of the platform stay. */
const dropOldest = async (db: Database, bytes: number, sandboxId?: string): Promise<void> => {
  let query = selectOldest(db).where('logger', '!=', PLATFORM_LOGGER);
  if (sandboxId !== undefined) query = query.where('sandbox_id', '=', sandboxId);
  for (let left = bytes; left > 0; ) {
    const rows: StoredSize[] = [];
    for (const row of await query.execute()) {
      if (left <= 0) break;
      rows.push(row);
      left -= row.size_bytes;
    }
    if (rows.length === 0) return;
    await forget(db, rows);
  }
};

const forget = (db: Database, rows: readonly StoredSize[]) =>
  db.transaction().execute(async (tx) => {
    await tx
      .deleteFrom('sandbox_logs')
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      )
      .execute();
    for (const [id, own] of Map.groupBy(rows, (row) => row.sandbox_id)) {
      const bytes = own.reduce((sum, row) => sum + row.size_bytes, 0);
      await tx
        .updateTable('log_sources')
        .set((eb) => ({ stored_bytes: eb('stored_bytes', '-', bytes) }))
        .where('sandbox_id', '=', id)
        .execute();
    }
  });

/** The log part of a store. */
export const createLogQueries = (db: Database): LogStore => ({
  addLogEntries: (entries, sources) =>
    db.transaction().execute(async (tx) => {
      await insertLogEntries(tx, entries);
      for (const { sandboxId, origin, seq } of sources) {
        const bytes = entries.reduce(
          (sum, entry) => (entry.sandboxId === sandboxId ? sum + entry.sizeBytes : sum),
          0,
        );
        await tx
          .insertInto('log_sources')
          .values({ sandbox_id: sandboxId, origin, seq, stored_bytes: bytes })
          .onConflict((conflict) =>
            conflict.column('sandbox_id').doUpdateSet((eb) => ({
              origin,
              seq,
              stored_bytes: eb('log_sources.stored_bytes', '+', bytes),
            })),
          )
          .execute();
      }
    }),

  findLogSource: async (sandboxId) => {
    const row = await db
      .selectFrom('log_sources')
      .select(['sandbox_id as sandboxId', 'origin', 'seq'])
      .where('sandbox_id', '=', sandboxId)
      .executeTakeFirst();
    return row;
  },

  listLogEntries: ({ sandboxId, level = 'debug', logger, search, ...page }) =>
    readLogPage(page, async ({ from, to, limit }) => {
      let query = db
        .selectFrom('sandbox_logs')
        .select(['at', 'level', 'logger', 'message', 'fields'])
        .where('sandbox_id', '=', sandboxId)
        .where('level', '>=', logLevels.indexOf(level))
        .orderBy('at', page.order)
        .orderBy('id', page.order);
      if (from !== undefined) query = query.where('at', '>=', from);
      if (to !== undefined) query = query.where('at', '<=', to);
      if (logger !== undefined) query = query.where('logger', '=', logger);
      if (search !== undefined) query = query.where(contains(search));
      if (limit !== undefined) query = query.limit(limit);
      return (await query.execute()).map(
        (row): LogEntryRow => ({
          at: row.at,
          level: logLevels[row.level] ?? 'info',
          logger: row.logger,
          message: row.message,
          fields: JSON.parse(row.fields) as Record<string, string>,
        }),
      );
    }),

  deleteLogEntries: async ({ before, maxBytesOfSandbox, maxBytes }) => {
    await dropOutdated(db, before);
    const over = await db
      .selectFrom('log_sources')
      .select(['sandbox_id', 'stored_bytes'])
      .where('stored_bytes', '>', maxBytesOfSandbox)
      .execute();
    for (const { sandbox_id, stored_bytes } of over)
      await dropOldest(db, stored_bytes - maxBytesOfSandbox, sandbox_id);
    const { total } = await db
      .selectFrom('log_sources')
      .select((eb) => eb.fn.sum<number | null>('stored_bytes').as('total'))
      .executeTakeFirstOrThrow();
    await dropOldest(db, Number(total ?? 0) - maxBytes);
  },
});
