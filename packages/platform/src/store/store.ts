import { createApiKeyQueries } from './api-keys/api-key-queries.ts';
import { createBlobCopyQueries } from './blob-copies/copy-queries.ts';
import { createBuildQueries } from './build-queries.ts';
import { createCacheQueries } from './cache/cache-queries.ts';
import { createIdempotencyQueries } from './idempotency/idempotency-queries.ts';
import { createLeaseQueries, type DatabaseTime } from './leases/lease-queries.ts';
import { createLogQueries } from './log-queries.ts';
import { createMetricQueries } from './metric-queries.ts';
import { createNodeQueries } from './nodes/node-queries.ts';
import { createSandboxQueries } from './sandbox-queries.ts';
import type { Database } from './schema.ts';
import type { Sealer } from './sealer.ts';
import { createSnapshotQueries } from './snapshot-queries.ts';
import { createTagQueries } from './tags/tag-queries.ts';
import { createTemplateList } from './template-list.ts';
import { createTemplateQueries } from './template-queries.ts';
import { createUsageQueries } from './usage/usage-queries.ts';
import { createWarmQueries } from './warm-queries.ts';

export interface StoreQueryOptions {
  /** The time of log entries of the store itself. */
  now: () => number;
  time: DatabaseTime;
  sealer: Sealer;
  /** The owner that was passed to `ownedBy`. */
  owner?: string;
}

/** All queries of a store, over a database whose tables are migrated. */
export const createStoreQueries = (db: Database, options: StoreQueryOptions) => ({
  ...createSandboxQueries(db, options),
  ...createWarmQueries(db, options),
  ...createTemplateQueries(db),
  ...createTemplateList(db),
  ...createSnapshotQueries(db),
  ...createBuildQueries(db, options),
  ...createTagQueries(db),
  ...createUsageQueries(db),
  ...createCacheQueries(db, options),
  ...createApiKeyQueries(db),
  ...createIdempotencyQueries(db, options),
  ...createMetricQueries(db),
  ...createLogQueries(db),
  ...createNodeQueries(db, options),
  ...createLeaseQueries(db, options.time),
  ...createBlobCopyQueries(db, options),
});

/**
 * The state that must survive a restart. Every change is on disk when its promise resolves. Times are integers,
 * milliseconds since the epoch. `suite.ts` is the executable definition.
 */
export interface Store extends ReturnType<typeof createStoreQueries> {
  /**
   * Returns the store for one of several servers: changes of sandboxes and nodes reject with `unavailable`
   * when that owner does not have the lease of the node, in the transaction of the change. An owner must not
   * take a lease again before what it began under the former one is over.
   */
  ownedBy(owner: string): Store;
  close(): Promise<void>;
}
