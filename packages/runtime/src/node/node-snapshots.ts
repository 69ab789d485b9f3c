import { createHmac, timingSafeEqual } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type BlobStore, isBlobError } from '@skerry/blobs';
import { runRequest } from '../blob-copies/run-request.ts';
import { type SnapshotCopy, toSignatureKey } from '../blob-copies/snapshot-copies.ts';
import type { SnapshotRequest } from '../blob-copies/snapshot-request.ts';
import { RuntimeError } from '../error.ts';
import type { Credentials } from './credentials.ts';
import { dialNode, type NodeAddress } from './dial-node.ts';

type Of<Way extends SnapshotRequest['way']> = Omit<Extract<SnapshotRequest, { way: Way }>, 'way'>;

/** The snapshots of a node, as a server stores and fetches them. The node gets no access to the store but through these calls. */
export interface RemoteSnapshots {
  /** See `SnapshotCopies.write`. Rejects with `unavailable` also when the node cannot be reached. */
  store(request: Of<'store'>, options?: { signal?: AbortSignal | undefined }): Promise<SnapshotCopy>;
  /** See `SnapshotCopies.read`, and the same. */
  fetch(request: Of<'fetch'>, options?: { signal?: AbortSignal | undefined }): Promise<void>;
}

/** A store for the snapshots of all nodes. */
export interface SignedStore {
  blobs: BlobStore;
  /** The key of the installation, which no node knows. */
  key: string;
}

/**
 * Opens one connection for each call, so that a snapshot delays nothing else. The server signs what a node says it has stored, and has no
 * node fetch what is not signed: a manifest that another program has put into the store and its digest into the database.
 */
export function createRemoteSnapshots(options: {
  address: NodeAddress;
  credentials: Credentials;
  installation: string;
  store: SignedStore;
}): RemoteSnapshots {
  const { address, credentials, installation } = options;
  const { blobs, key } = options.store;
  const sign = ({ copy, templateDigest }: Of<'store'>, manifestSha256: string): Buffer =>
    createHmac('sha256', key).update(`manifest:${copy}:${manifestSha256}:${templateDigest}`).digest();
  const requireSigned = async (request: Of<'fetch'>, signal: AbortSignal | undefined): Promise<void> => {
    const expected = sign(request, request.manifestSha256);
    const found = await readSignature(blobs, { copy: request.copy, signal });
    if (found === undefined || found.length !== expected.length || !timingSafeEqual(found, expected))
      throw new RuntimeError(
        'damaged',
        `the manifest of the copy ${request.copy} is not signed by a server of this installation`,
      );
  };
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
      const signature = sign(request, manifestSha256);
      await blobs
        .put(toSignatureKey(request.copy), Readable.from([signature]), {
          sizeBytes: signature.length,
          signal,
        })
        .catch(throwUnavailable);
      return { manifestSha256, sizeBytes };
    },
    fetch: async (request, { signal } = {}) => {
      await requireSigned(request, signal);
      await run({ way: 'fetch', ...request }, signal);
    },
  };
}

/** The signature of a copy; undefined when there is none. Rejects with `unavailable` when the store is. */
const readSignature = async (
  blobs: BlobStore,
  { copy, signal }: { copy: string; signal: AbortSignal | undefined },
): Promise<Buffer | undefined> => {
  const found = await blobs.get(toSignatureKey(copy), { signal }).catch((error: unknown) => {
    if (isBlobError(error, 'not_found')) return undefined;
    return throwUnavailable(error);
  });
  if (found === undefined) return undefined;
  if (found.sizeBytes <= MAX_SIGNATURE_BYTES) return buffer(found.body);
  found.body.destroy();
  return undefined;
};

const MAX_SIGNATURE_BYTES = 100;

const throwUnavailable = (error: unknown): never => {
  if (!isBlobError(error)) throw error;
  throw new RuntimeError('unavailable', `the signature of a stored snapshot: ${error.message}`, {
    cause: error,
  });
};
