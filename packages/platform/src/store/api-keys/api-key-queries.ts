import type { Database } from '../schema.ts';
import type { ApiKeyRow } from './api-key-row.ts';

/** The keys of the platform API, by their hashes. */
export const createApiKeyQueries = (db: Database) => ({
  /** Does not change an existing key of the same hash. */
  addApiKey: async (key: ApiKeyRow): Promise<void> => {
    await db
      .insertInto('apiKeys')
      .values(key)
      .onConflict((conflict) => conflict.column('hash').doNothing())
      .execute();
  },

  findApiKey: (hash: string): Promise<ApiKeyRow | undefined> =>
    db.selectFrom('apiKeys').selectAll().where('hash', '=', hash).executeTakeFirst(),

  touchApiKey: async (hash: string, lastUsedAt: number): Promise<void> => {
    await db.updateTable('apiKeys').set({ lastUsedAt }).where('hash', '=', hash).execute();
  },
});
