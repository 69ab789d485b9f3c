import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createNodeSqliteDialect, withoutSync } from './node-sqlite.ts';

interface Notes {
  note: { text: string };
}

let database: DatabaseSync;
let db: Kysely<Notes>;
beforeEach(async () => {
  database = new DatabaseSync(':memory:');
  db = new Kysely<Notes>({ dialect: createNodeSqliteDialect(database) });
  await db.schema.createTable('note').addColumn('text', 'text').execute();
  // The database may not grow: to SQLite the disk is full.
  database.exec('pragma max_page_count = 1');
});
afterEach(() => db.destroy());

const long = 'x'.repeat(10_000);
const count = async (): Promise<number> => (await db.selectFrom('note').selectAll().execute()).length;

it('reports a full disk as "unavailable", also in a transaction, which it rolls back', async () => {
  await db.insertInto('note').values({ text: 'short' }).execute();
  await expect(db.insertInto('note').values({ text: long }).execute()).rejects.toMatchObject({
    code: 'unavailable',
    reason: 'sandbox_capacity_unavailable',
  });
  const both = db.transaction().execute(async (tx) => {
    await tx.insertInto('note').values({ text: 'other' }).execute();
    await tx.insertInto('note').values({ text: long }).execute();
  });
  await expect(both).rejects.toMatchObject({ code: 'unavailable' });
  expect(await count()).toBe(1);
  await db.transaction().execute((tx) => tx.insertInto('note').values({ text: 'next' }).execute());
  expect(await count()).toBe(2);
});

it('passes on every other error unchanged', async () => {
  const failed = db.transaction().execute(async (tx) => {
    await tx.insertInto('note').values({ text: 'other' }).execute();
    throw new Error('an unrelated error');
  });
  await expect(failed).rejects.toThrow('an unrelated error');
  expect(await count()).toBe(0);
});

it('answers a statement again after more statements than stay prepared, and after an iteration that was left', async () => {
  const texts = db.selectFrom('note').select('text').orderBy('text');
  await db.insertInto('note').values({ text: 'one' }).execute();
  expect(await texts.execute()).toEqual([{ text: 'one' }]);
  await db.insertInto('note').values({ text: 'two' }).execute();
  for (let n = 0; n < 300; n++) await sql`select ${sql.lit(n)}`.execute(db);
  expect(await texts.execute()).toEqual([{ text: 'one' }, { text: 'two' }]);
  for await (const { text } of texts.stream()) {
    expect(text).toBe('one');
    break;
  }
  expect(await texts.execute()).toHaveLength(2);
});

it('syncs each commit again after a transaction without sync, also after one that fails', async () => {
  const read = async (from: Kysely<Notes>) =>
    (await sql<{ synchronous: number }>`pragma synchronous`.execute(from)).rows[0]?.synchronous;
  const failed = withoutSync(db, async (connection) => {
    expect(await read(connection)).toBe(1);
    await connection.transaction().execute(async (tx) => {
      await tx.insertInto('note').values({ text: 'lost' }).execute();
      throw new Error('in the middle');
    });
  });
  await expect(failed).rejects.toThrow('in the middle');
  expect(await read(db)).toBe(2);
  expect(await count()).toBe(0);
  await withoutSync(db, (connection) =>
    connection.transaction().execute((tx) => tx.insertInto('note').values({ text: 'kept' }).execute()),
  );
  expect(await read(db)).toBe(2);
  expect(await count()).toBe(1);
});
