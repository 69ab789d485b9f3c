import type { Database } from '../migrations.ts';
import type { ApiKeyStore } from './api-key-store.ts';

/** The API key part of a store, in portable SQL. */
export const createApiKeyQueries = (db: Database): ApiKeyStore => ({
  addApiKey: async ({ hash, mask, name, createdAt, lastUsedAt }) => {
    await db
      .insertInto('api_keys')
      .values({ hash, mask, name, created_at: createdAt, last_used_at: lastUsedAt })
      .onConflict((conflict) => conflict.column('hash').doNothing())
      .execute();
  },

  findApiKey: async (hash) => {
    const row = await db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    return (
      row && {
        hash: row.hash,
        mask: row.mask,
        name: row.name,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at,
      }
    );
  },

  touchApiKey: async (hash, lastUsedAt) => {
    await db.updateTable('api_keys').set({ last_used_at: lastUsedAt }).where('hash', '=', hash).execute();
  },
});
