import type { BlobStore } from '@skerry/blobs';
import { RuntimeError } from '../error.ts';
import { runRequest } from '../stored/run-request.ts';
import type { SnapshotRequest } from '../stored/snapshot-request.ts';
import type { StoredSnapshot } from '../stored/stored-snapshots.ts';
import type { Credentials } from './credentials.ts';
import { dialNode, type NodeAddress } from './dial-node.ts';

type Of<Way extends SnapshotRequest['way']> = Omit<Extract<SnapshotRequest, { way: Way }>, 'way'>;

/** The snapshots of a node, as a server stores and fetches them. The node gets no access to the store but through these calls. */
export interface RemoteSnapshots {
  /** See `StoredSnapshots.write`. Rejects with `unavailable` also when the node cannot be reached. */
  store(request: Of<'store'>, options?: { signal?: AbortSignal | undefined }): Promise<StoredSnapshot>;
  /** See `StoredSnapshots.read`, and the same. */
  fetch(request: Of<'fetch'>, options?: { signal?: AbortSignal | undefined }): Promise<void>;
}

/** Opens one connection for each call, so that a snapshot delays nothing else. */
export function createRemoteSnapshots(options: {
  address: NodeAddress;
  credentials: Credentials;
  installation: string;
  blobs: BlobStore;
}): RemoteSnapshots {
  const { address, credentials, installation, blobs } = options;
  const run = async (request: SnapshotRequest, signal: AbortSignal | undefined) => {
    const opening = { use: 'snapshot', installation, ...request } as const;
    const { socket } = await dialNode(address, { credentials, opening, signal });
    return runRequest(socket, request, { blobs, signal });
  };
  return {
    store: async (request, { signal } = {}) => {
      const { manifestSha256, sizeBytes } = await run({ way: 'store', ...request }, signal);
      if (manifestSha256 === undefined || sizeBytes === undefined)
        throw new RuntimeError('internal', `node "${address.name}" has not said what it stored`);
      return { manifestSha256, sizeBytes };
    },
    fetch: async (request, { signal } = {}) => {
      await run({ way: 'fetch', ...request }, signal);
    },
  };
}
