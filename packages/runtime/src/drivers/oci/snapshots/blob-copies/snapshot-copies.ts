import type { ForeignMemory } from '@skerry/contract/foreign-memory';
import type { SnapshotCopies } from '../../../../blob-copies/snapshot-copies.ts';
import { parseInstanceId } from '../../../instance-spec.ts';
import type { OciHost } from '../../host.ts';
import { toStepError } from '../../step-error.ts';
import { toStoreFailure } from './blob-failure.ts';
import { fetchSnapshot } from './fetch-snapshot.ts';
import { storeSnapshot } from './store-snapshot.ts';

/** Copies snapshots of a data folder to a store and back. */
export const createSnapshotCopies = (
  host: OciHost,
  { agentDir, foreignMemory }: { agentDir: string; foreignMemory: ForeignMemory },
): SnapshotCopies => {
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
    write: (id, options) =>
      attempt(`storing snapshot ${id}`, options.signal, () => storeSnapshot(host.dataDir, id, options)),
    read: (id, options) =>
      attempt(`fetching snapshot ${id}`, options.signal, () =>
        fetchSnapshot(host, parseInstanceId(id, 'snapshot'), { ...options, agentDir, foreignMemory }),
      ),
  };
};
