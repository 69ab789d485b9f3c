import type { Selectable } from 'kysely';
import type { Database } from '../migrations.ts';
import type { CacheEntry, CacheStore } from './cache-store.ts';
import type { BuildCacheTable } from './cache-tables.ts';

const toEntry = (row: Selectable<BuildCacheTable>, shared: ReadonlySet<string>): CacheEntry => ({
  key: row.key,
  parent: row.parent,
  description: row.description,
  snapshotId: row.snapshot_id,
  image: row.image,
  imageBytes: row.image_bytes,
  config: JSON.parse(row.config) as CacheEntry['config'],
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  isImageShared: row.image !== null && shared.has(row.image),
});

const toEntries = async (db: Database, rows: Selectable<BuildCacheTable>[]): Promise<CacheEntry[]> => {
  const images = await db
    .selectFrom('builds')
    .select('image')
    .distinct()
    .where('image', 'is not', null)
    .execute();
  const shared = new Set(images.flatMap(({ image }) => image ?? []));
  return rows.map((row) => toEntry(row, shared));
};

/** Removes the results of these keys, and all that were made on those. */
const removeWithRest = async (db: Database, keys: readonly string[]): Promise<string[]> => {
  const removed: string[] = [];
  for (let next = [...keys]; next.length > 0; ) {
    const gone = await db.deleteFrom('build_cache').where('key', 'in', next).returning('key').execute();
    removed.push(...gone.map(({ key }) => key));
    const made = await db.selectFrom('build_cache').select('key').where('parent', 'in', next).execute();
    next = made.map(({ key }) => key);
  }
  return removed;
};

/** A result is then never kept in place of one that was made on it. */
const touchWithParents = async (db: Database, key: string, at: number): Promise<void> => {
  for (let next: string | null = key; next !== null; ) {
    const touched: { parent: string | null } | undefined = await db
      .updateTable('build_cache')
      .set({ last_used_at: at })
      .where('key', '=', next)
      .returning('parent')
      .executeTakeFirst();
    next = touched?.parent ?? null;
  }
};

/** The cache of builds, in portable SQL. */
export const createCacheQueries = (db: Database): CacheStore => ({
  keepCached: (entry, { replaces }) =>
    db.transaction().execute(async (tx) => {
      const find = (key: string) =>
        tx.selectFrom('build_cache').selectAll().where('key', '=', key).executeTakeFirst();
      if (entry.parent !== null && (await find(entry.parent)) === undefined) return false;
      const before = replaces ? undefined : await find(entry.key);
      if (replaces) await removeWithRest(tx, [entry.key]);
      else await tx.deleteFrom('build_cache').where('key', '=', entry.key).execute();
      await tx
        .insertInto('build_cache')
        .values({
          key: entry.key,
          parent: entry.parent,
          description: entry.description,
          snapshot_id: entry.snapshotId ?? before?.snapshot_id ?? null,
          image: entry.image ?? before?.image ?? null,
          image_bytes: entry.imageBytes ?? before?.image_bytes ?? null,
          config: JSON.stringify(entry.config),
          created_at: before?.created_at ?? entry.createdAt,
          last_used_at: entry.createdAt,
        })
        .execute();
      await touchWithParents(tx, entry.key, entry.createdAt);
      if (entry.snapshotId !== null)
        await tx
          .updateTable('snapshots')
          .set({ state: 'ready' })
          .where('id', '=', entry.snapshotId)
          .where('state', '=', 'making')
          .execute();
      return true;
    }),

  findCached: async (keys) =>
    keys.length === 0
      ? []
      : toEntries(db, await db.selectFrom('build_cache').selectAll().where('key', 'in', keys).execute()),

  touchCached: (key, at) => db.transaction().execute((tx) => touchWithParents(tx, key, at)),

  listCached: async () =>
    toEntries(
      db,
      await db
        .selectFrom('build_cache')
        .selectAll()
        .orderBy('last_used_at', 'desc')
        .orderBy('created_at', 'asc')
        .orderBy('key')
        .execute(),
    ),

  removeCached: (keys) =>
    keys.length === 0 ? Promise.resolve([]) : db.transaction().execute((tx) => removeWithRest(tx, keys)),
});
