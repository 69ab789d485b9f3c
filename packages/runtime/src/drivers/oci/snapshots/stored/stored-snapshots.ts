import type { BlobStore } from '@skerry/blobs';
import type { SnapshotId } from '../../../../runtime.ts';
import { parseInstanceId } from '../../../instance-spec.ts';
import type { OciHost } from '../../host.ts';
import { toStepError } from '../../step-error.ts';
import { toStoreFailure } from './blob-failure.ts';
import { type FetchOptions, fetchSnapshot } from './fetch-snapshot.ts';
import { type StoredSnapshot, storeSnapshot } from './store-snapshot.ts';
import { toManifestKey, toStoredPrefix } from './stored-manifest.ts';

/** Snapshots in a store that other hosts can reach. A snapshot and its copy in the store do not depend on each other. */
export interface StoredSnapshots {
  /** See `storeSnapshot`. */
  write(
    id: SnapshotId,
    options: {
      blobs: BlobStore;
      /** Of the image that it was made on: `sha256:` and 64 hex digits. */
      templateDigest: string;
      signal?: AbortSignal;
    },
  ): Promise<StoredSnapshot>;
  /** See `fetchSnapshot`. */
  read(
    id: SnapshotId,
    options: Omit<FetchOptions, 'agentDir' | 'signal'> & { signal?: AbortSignal },
  ): Promise<void>;
  /** Removes it from the store. Idempotent, from any incomplete state. Rejects with `unavailable`. */
  remove(id: SnapshotId, options: { blobs: BlobStore; signal?: AbortSignal }): Promise<void>;
}

export const createStoredSnapshots = (host: OciHost, { agentDir }: { agentDir: string }): StoredSnapshots => {
  const attempt = async <T>(
    step: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const failure = toStoreFailure(error, step);
      throw await toStepError(failure, { step, dataDir: host.dataDir, ...(signal && { signal }) });
    }
  };
  return {
    write: (id, { blobs, templateDigest, signal }) =>
      attempt(`storing snapshot ${id}`, signal, () =>
        storeSnapshot(host.dataDir, id, { blobs, templateDigest, signal }),
      ),
    read: (id, options) =>
      attempt(`fetching snapshot ${id}`, options.signal, () =>
        fetchSnapshot(host, parseInstanceId(id, 'snapshot'), {
          ...options,
          agentDir,
          signal: options.signal,
        }),
      ),
    remove: (id, { blobs, signal }) =>
      attempt(`removing the stored snapshot ${id}`, signal, async () => {
        // First: without it there is no snapshot.
        await blobs.delete(toManifestKey(id), { signal });
        for await (const { key } of blobs.list(toStoredPrefix(id), { signal }))
          await blobs.delete(key, { signal });
      }),
  };
};
