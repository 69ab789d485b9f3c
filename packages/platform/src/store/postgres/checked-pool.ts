import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { toStoreError, toUnavailable } from './database-error.ts';
import { fromStored, toStored } from './nul-text.ts';

const checkClient = (client: PoolClient, onError?: () => void): PostgresPoolClient => {
  let isLost = false;
  const query = async (sql: string, parameters: readonly unknown[]) => {
    // `pg` would send it after the response to the query that has not been answered.
    if (isLost) throw toUnavailable('the connection to the database was lost');
    try {
      const result = await client.query(sql, parameters.map(toStored));
      for (const row of result.rows as Record<string, unknown>[])
        for (const name in row) row[name] = fromStored(row[name]);
      return result;
    } catch (error) {
      onError?.();
      isLost ||= !(error instanceof DatabaseError);
      throw toStoreError(error);
    }
  };
  const release = (destroy?: boolean): void => client.release(destroy || isLost);
  // Kysely's type has an overload for cursors, which the store does not use.
  return { query, release } as unknown as PostgresPoolClient;
};

/**
 * A pool for kysely whose errors are those of `toStoreError`. `requireServer` throws while this process may not use the
 * database. `onError` is called for each error of a query, and when there is no connection.
 */
export const createCheckedPool = (
  pool: Pool,
  { requireServer, onError }: { requireServer: () => void; onError?: (() => void) | undefined },
): PostgresPool => {
  const connect = async (): Promise<PoolClient> => {
    requireServer();
    return pool.connect();
  };
  const known = new WeakMap<PoolClient, PostgresPoolClient>();
  return {
    connect: async () => {
      const client = await connect().catch((error: unknown) => {
        onError?.();
        throw toStoreError(error);
      });
      const checked = known.get(client) ?? checkClient(client, onError);
      known.set(client, checked);
      return checked;
    },
    end: () => pool.end(),
    options: {},
  } as PostgresPool;
};
