import { callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';

/** Sandboxes with their disks, templates with their file systems, and so on. Logs are counted by entry. */
export type StorageKind =
  | 'templates'
  | 'buildCache'
  | 'baseImages'
  | 'contexts'
  | 'snapshots'
  | 'sandboxes'
  | 'buildLogs'
  | 'sandboxLogs';

/** What the service keeps of one kind. */
export interface StorageUsage {
  kind: StorageKind;
  /** The node that has it; absent: the server. */
  node?: string;
  /** How many there are; of logs, entries. */
  count: number;
  sizeBytes: number;
  /** What `storage.prune` with `all` removes. */
  reclaimableCount: number;
  reclaimableBytes: number;
}

/** What was removed. */
export interface StoragePruned {
  /** Names of templates, or their ids. */
  templates: string[];
  removed: { kind: StorageKind; node?: string; count: number; sizeBytes: number }[];
}

export interface PruneOptions extends ConnectionOptions {
  /** Also the cache of builds, and then built templates that no sandbox, no snapshot and no build uses. Default false. */
  all?: boolean | undefined;
}

/** The disk of the service, and those of its nodes. */
export const storage = {
  /** What the service keeps, one entry for each kind, and of each node that answers. */
  async usage(options: ConnectionOptions = {}): Promise<StorageUsage[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/skerry/v1/system/usage', { signal }),
    );
    return data;
  },

  /** Removes uploaded files that no build needs, logs of builds without a tag, and what no record names. */
  async prune({ all = false, ...options }: PruneOptions = {}): Promise<StoragePruned> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/skerry/v1/system/prune', { body: { all }, signal }),
    );
    return data;
  },
};
