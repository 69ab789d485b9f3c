import type { Updateable } from 'kysely';
import { json } from '../columns.ts';
import type { KeyLimits } from '../quotas/quota-rows.ts';
import type { Database, Schema } from '../schema.ts';
import type { ApiKeyRow, NewApiKey } from './api-key-row.ts';

/** The keys of the platform API, by their hashes or ids. */
export const createApiKeyQueries = (db: Database) => ({
  /** Does not change an existing key of the same hash. Resolves with false when that one is revoked. */
  addApiKey: async (key: NewApiKey): Promise<boolean> => {
    await db
      .insertInto('apiKeys')
      .values({ ...key, limits: json(key.limits), lastUsedAt: null, revokedAt: null })
      .onConflict((conflict) => conflict.column('hash').doNothing())
      .execute();
    const valid = db.selectFrom('apiKeys').select('id').where('hash', '=', key.hash);
    return (await valid.where('revokedAt', 'is', null).executeTakeFirst()) !== undefined;
  },

  /** The key of that hash, unless it is revoked. */
  findApiKey: (hash: string): Promise<ApiKeyRow | undefined> =>
    db
      .selectFrom('apiKeys')
      .selectAll()
      .where('hash', '=', hash)
      .where('revokedAt', 'is', null)
      .executeTakeFirst(),

  /** Lists the keys that are not revoked, newest first, ties by id. */
  listApiKeys: (): Promise<ApiKeyRow[]> =>
    db
      .selectFrom('apiKeys')
      .selectAll()
      .where('revokedAt', 'is', null)
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      .execute(),

  touchApiKey: async (hash: string, lastUsedAt: number): Promise<void> => {
    await db.updateTable('apiKeys').set({ lastUsedAt }).where('hash', '=', hash).execute();
  },

  /** Resolves with false when there is no such key, or it is revoked. */
  changeApiKey: (id: string, { name, limits }: { name?: string; limits?: KeyLimits }): Promise<boolean> =>
    change(db, id, { ...(name !== undefined && { name }), ...(limits && { limits: json(limits) }) }),

  /** Resolves with false when there is no such key, or it is revoked. */
  revokeApiKey: (id: string, revokedAt: number): Promise<boolean> => change(db, id, { revokedAt }),
});

const change = async (
  db: Database,
  id: string,
  set: Pick<Updateable<Schema['apiKeys']>, 'name' | 'limits' | 'revokedAt'>,
): Promise<boolean> => {
  const update = db.updateTable('apiKeys').set(set).where('id', '=', id).where('revokedAt', 'is', null);
  return (await update.executeTakeFirst()).numUpdatedRows > 0n;
};
