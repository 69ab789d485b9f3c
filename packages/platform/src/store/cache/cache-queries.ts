import type { Database } from '../schema.ts';
import type { Sealer } from '../sealer.ts';
import { makeReady } from '../snapshot-queries.ts';
import type { CachedResult, CacheEntry, NewCacheEntry } from './cache-rows.ts';

const toEntries = async (db: Database, rows: CachedResult[]): Promise<CacheEntry[]> => {
  const images = await db
    .selectFrom('builds')
    .select('image')
    .distinct()
    .where('image', 'is not', null)
    .execute();
  const shared = new Set(images.map(({ image }) => image));
  return rows.map((row) => ({ ...row, isImageShared: shared.has(row.image) }));
};

/** Removes the results of these keys, and all that were made on those. */
const removeWithRest = async (db: Database, keys: readonly string[]): Promise<string[]> => {
  const removed: string[] = [];
  for (let next = [...keys]; next.length > 0; ) {
    const gone = await db.deleteFrom('buildCache').where('key', 'in', next).returning('key').execute();
    removed.push(...gone.map(({ key }) => key));
    const made = await db.selectFrom('buildCache').select('key').where('parent', 'in', next).execute();
    next = made.map(({ key }) => key);
  }
  return removed;
};

/** A result is then never kept in place of one that was made on it. */
const touchWithParents = async (db: Database, key: string, at: number): Promise<void> => {
  for (let next: string | null = key; next !== null; ) {
    const touched: { parent: string | null } | undefined = await db
      .updateTable('buildCache')
      .set({ lastUsedAt: at })
      .where('key', '=', next)
      .returning('parent')
      .executeTakeFirst();
    next = touched?.parent ?? null;
  }
};

/** What the steps of builds have made, by their keys, in portable SQL. */
export const createCacheQueries = (db: Database, { sealer }: { sealer: Sealer }) => ({
  /**
   * Keeps a result under its key; its snapshot, in state `making`, becomes ready. With `replaces` an earlier result of that
   * key goes, and all that were made on it; otherwise the two are of equal files, and what each has is kept. Resolves with false
   * when the result that it was made on is gone; then nothing is written.
   */
  keepCached: (entry: NewCacheEntry, { replaces }: { replaces: boolean }): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const find = (key: string) =>
        tx.selectFrom('buildCache').selectAll().where('key', '=', key).executeTakeFirst();
      if (entry.parent !== null && (await find(entry.parent)) === undefined) return false;
      const before = replaces ? undefined : await find(entry.key);
      if (replaces) await removeWithRest(tx, [entry.key]);
      else await tx.deleteFrom('buildCache').where('key', '=', entry.key).execute();
      await tx
        .insertInto('buildCache')
        .values({
          ...entry,
          snapshotId: entry.snapshotId ?? before?.snapshotId ?? null,
          image: entry.image ?? before?.image ?? null,
          imageBytes: entry.imageBytes ?? before?.imageBytes ?? null,
          config: sealer.seal(entry.config, 'config'),
          createdAt: before?.createdAt ?? entry.createdAt,
          lastUsedAt: entry.createdAt,
        })
        .execute();
      await touchWithParents(tx, entry.key, entry.createdAt);
      if (entry.snapshotId !== null) await makeReady(tx, entry.snapshotId);
      return true;
    }),

  /** Finds the results that these keys have, in any order. */
  findCached: async (keys: readonly string[]): Promise<CacheEntry[]> =>
    keys.length === 0
      ? []
      : toEntries(db, await db.selectFrom('buildCache').selectAll().where('key', 'in', keys).execute()),

  /** Marks a result, and those that it was made on, as used at that time. */
  touchCached: (key: string, at: number): Promise<void> =>
    db.transaction().execute((tx) => touchWithParents(tx, key, at)),

  /** The one that was used last first; of equal ones, what was made on another before that. */
  listCached: async (): Promise<CacheEntry[]> =>
    toEntries(
      db,
      await db
        .selectFrom('buildCache')
        .selectAll()
        .orderBy('lastUsedAt', 'desc')
        .orderBy('createdAt', 'asc')
        .orderBy('key')
        .execute(),
    ),

  /**
   * Removes results, and all that were made on them. Resolves with the keys that it has removed. Their snapshots and
   * images stay until `retireUnused` and `retireImages`.
   */
  removeCached: async (keys: readonly string[]): Promise<string[]> =>
    keys.length === 0 ? [] : db.transaction().execute((tx) => removeWithRest(tx, keys)),
});
