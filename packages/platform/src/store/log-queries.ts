import { logLevels } from '@skerry/contract/agent-control';
import type { ExpressionBuilder } from 'kysely';
import { json } from './columns.ts';
import { PLATFORM_LOGGER } from './lifecycle-entry.ts';
import type { LogEntryRow, LogQuery, LogSource, NewLogEntry } from './log-rows.ts';
import { readLogPage } from './read-log-page.ts';
import type { Database, Schema } from './schema.ts';

const ROWS_A_STATEMENT = 500;

const toValues = (entry: NewLogEntry) => ({
  ...entry,
  level: logLevels.indexOf(entry.level),
  fields: json(entry.fields),
});

/** Writes entries, in the caller's transaction if there is one. */
export const insertLogEntries = async (db: Database, entries: readonly NewLogEntry[]): Promise<void> => {
  for (let from = 0; from < entries.length; from += ROWS_A_STATEMENT) {
    const values = entries.slice(from, from + ROWS_A_STATEMENT).map(toValues);
    await db.insertInto('sandboxLogs').values(values).execute();
  }
};

/** Compares both texts case-sensitively, which `like` does not. */
const contains = (text: string) => (eb: ExpressionBuilder<Schema, 'sandboxLogs'>) =>
  eb.or([
    eb(eb.fn<number>('instr', ['message', eb.val(text)]), '>', 0),
    // The text as JSON writes it between the quotes of a field.
    eb(eb.fn<number>('instr', ['fields', eb.val(JSON.stringify(text).slice(1, -1))]), '>', 0),
  ]);

type StoredSize = { id: number; sandboxId: string; sizeBytes: number };

/** The oldest entries. */
const selectOldest = (db: Database) =>
  db
    .selectFrom('sandboxLogs')
    .select(['id', 'sandboxId', 'sizeBytes'])
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

/** Removes the oldest entries of agents until that number of bytes is freed. Entries of the platform stay. */
const dropOldest = async (db: Database, bytes: number, sandboxId?: string): Promise<void> => {
  let query = selectOldest(db).where('logger', '!=', PLATFORM_LOGGER);
  if (sandboxId !== undefined) query = query.where('sandboxId', '=', sandboxId);
  for (let left = bytes; left > 0; ) {
    const rows: StoredSize[] = [];
    for (const row of await query.execute()) {
      if (left <= 0) break;
      rows.push(row);
      left -= row.sizeBytes;
    }
    if (rows.length === 0) return;
    await forget(db, rows);
  }
};

const forget = (db: Database, rows: readonly StoredSize[]) =>
  db.transaction().execute(async (tx) => {
    await tx
      .deleteFrom('sandboxLogs')
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      )
      .execute();
    for (const [id, own] of Map.groupBy(rows, (row) => row.sandboxId)) {
      const bytes = own.reduce((sum, row) => sum + row.sizeBytes, 0);
      await tx
        .updateTable('logSources')
        .set((eb) => ({ storedBytes: eb('storedBytes', '-', bytes) }))
        .where('sandboxId', '=', id)
        .execute();
    }
  });

/** The logs of sandboxes, in portable SQL. */
export const createLogQueries = (db: Database) => ({
  /**
   * Writes entries of sandboxes whose rows exist and, in the same transaction, the positions up to which logs were
   * read.
   */
  addLogEntries: (entries: readonly NewLogEntry[], sources: readonly LogSource[]): Promise<void> =>
    db.transaction().execute(async (tx) => {
      await insertLogEntries(tx, entries);
      for (const { sandboxId, origin, seq } of sources) {
        const bytes = entries.reduce(
          (sum, entry) => (entry.sandboxId === sandboxId ? sum + entry.sizeBytes : sum),
          0,
        );
        await tx
          .insertInto('logSources')
          .values({ sandboxId, origin, seq, storedBytes: bytes })
          .onConflict((conflict) =>
            conflict.column('sandboxId').doUpdateSet((eb) => ({
              origin,
              seq,
              storedBytes: eb('logSources.storedBytes', '+', bytes),
            })),
          )
          .execute();
      }
    }),

  findLogSource: (sandboxId: string): Promise<LogSource | undefined> =>
    db
      .selectFrom('logSources')
      .select(['sandboxId', 'origin', 'seq'])
      .where('sandboxId', '=', sandboxId)
      .executeTakeFirst(),

  listLogEntries: ({
    sandboxId,
    level = 'debug',
    logger,
    search,
    ...page
  }: LogQuery): Promise<LogEntryRow[]> =>
    readLogPage(page, async ({ from, to, limit }) => {
      let query = db
        .selectFrom('sandboxLogs')
        .select(['at', 'level', 'logger', 'message', 'fields'])
        .where('sandboxId', '=', sandboxId)
        .where('level', '>=', logLevels.indexOf(level))
        .orderBy('at', page.order)
        .orderBy('id', page.order);
      if (from !== undefined) query = query.where('at', '>=', from);
      if (to !== undefined) query = query.where('at', '<=', to);
      if (logger !== undefined) query = query.where('logger', '=', logger);
      if (search !== undefined) query = query.where(contains(search));
      if (limit !== undefined) query = query.limit(limit);
      return (await query.execute()).map((row) => ({ ...row, level: logLevels[row.level] ?? 'info' }));
    }),

  /**
   * Removes entries that are too old, and the oldest entries of agents while those of one sandbox, or of all,
   * have more bytes than allowed.
   */
  deleteLogEntries: async ({
    before,
    maxBytesOfSandbox,
    maxBytes,
  }: {
    before: number;
    maxBytesOfSandbox: number;
    maxBytes: number;
  }): Promise<void> => {
    await dropOutdated(db, before);
    const over = await db
      .selectFrom('logSources')
      .select(['sandboxId', 'storedBytes'])
      .where('storedBytes', '>', maxBytesOfSandbox)
      .execute();
    for (const { sandboxId, storedBytes } of over)
      await dropOldest(db, storedBytes - maxBytesOfSandbox, sandboxId);
    const { total } = await db
      .selectFrom('logSources')
      .select((eb) => eb.fn.sum<number | null>('storedBytes').as('total'))
      .executeTakeFirstOrThrow();
    await dropOldest(db, Number(total ?? 0) - maxBytes);
  },
});
