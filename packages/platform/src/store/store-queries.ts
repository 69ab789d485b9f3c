import { createApiKeyQueries } from './api-keys/api-key-queries.ts';
import { createBuildQueries } from './build-queries.ts';
import { createCacheQueries } from './cache/cache-queries.ts';
import { createLeaseQueries, type DatabaseTime } from './leases/lease-queries.ts';
import { createLogQueries } from './log-queries.ts';
import { createMetricQueries } from './metric-queries.ts';
import type { Database } from './migrations.ts';
import { createNodeQueries } from './nodes/node-queries.ts';
import { createSandboxQueries } from './sandbox-queries.ts';
import { createSnapshotQueries } from './snapshot-queries.ts';
import type { Store } from './store.ts';
import { createStoredQueries } from './stored/stored-queries.ts';
import { createTagQueries } from './tags/tag-queries.ts';
import { createTemplateList } from './template-list.ts';
import { createTemplateQueries } from './template-queries.ts';
import { createUsageQueries } from './usage/usage-queries.ts';
import { createWarmQueries } from './warm-queries.ts';

export interface StoreQueryOptions {
  /** The time of log entries of the store itself. */
  now: () => number;
  time: DatabaseTime;
  /** Of `ownedBy`. */
  owner?: string;
}

/** All parts of a store over a database whose tables are migrated. */
export const createStoreQueries = (
  db: Database,
  options: StoreQueryOptions,
): Omit<Store, 'close' | 'ownedBy'> => ({
  ...createSandboxQueries(db, options),
  ...createWarmQueries(db, options),
  ...createTemplateQueries(db),
  ...createTemplateList(db),
  ...createSnapshotQueries(db),
  ...createBuildQueries(db),
  ...createTagQueries(db),
  ...createUsageQueries(db),
  ...createCacheQueries(db),
  ...createApiKeyQueries(db),
  ...createMetricQueries(db),
  ...createLogQueries(db),
  ...createNodeQueries(db, options),
  ...createLeaseQueries(db, options.time),
  ...createStoredQueries(db, options),
});
