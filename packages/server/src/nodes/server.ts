import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '@skerry/blobs';
import {
  createFleet,
  createSystemClock,
  type HostImages,
  type ListedNode,
  type Store,
} from '@skerry/platform';
import { type CredentialFiles, connectNode, createRemoteImages, dialDoor } from '@skerry/runtime/node';
import { openDataFolder, removeServerAddress } from '../data-folder/data-folder.ts';
import { lockDataFolder } from '../data-folder/data-lock.ts';
import { markOfServer, requireUse } from '../data-folder/folder-use.ts';
import { removeServerProcess, writeServerProcess } from '../data-folder/server-process.ts';
import { type BuildOptions, readSpareBytes } from '../serving/build-options.ts';
import { type Serving, type ServingOptions, serve } from '../serving/serve.ts';
import { openNodeTemplateImages } from '../serving/template-images.ts';
import type { WarmCounts } from '../serving/warm-counts.ts';
import { UserError } from '../user-error.ts';
import { readCredentials } from './node.ts';
import { parseAddress, parseNode } from './node-address.ts';
import { type MembershipChoice, openMembership } from './open-membership.ts';
import { listenForPeers, type RunningPeers } from './peers.ts';
import { type BlobStoreChoice, openServerBlobs, toCopyStore } from './server-blobs.ts';

export type { BlobStoreChoice };

export interface NodesServerOptions extends ServingOptions, BuildOptions {
  dataDir: string;
  files: CredentialFiles;
  membership: MembershipChoice;
  /** How long a node may not answer before it is held for dead. */
  deadMs: number;
  /** Where paused sandboxes are kept beside their nodes. */
  blobStore?: BlobStoreChoice | undefined;
  warm: WarmCounts;
  /** Where this server listens for the others of the same database; absent: it is the only one. */
  peerListen?: { host: string; port: number } | undefined;
}

/** A server that does not renew its leases for so long loses its nodes. */
const leaseMs = 6_000;

/**
 * Serves platform and edge with sandboxes on other machines. Resolves when requests are served; nodes that cannot be reached are
 * tried again from then on. Rejects, with nothing left open, when the certificate, the folder or the port cannot be used.
 */
export async function startNodesServer(options: NodesServerOptions): Promise<Serving> {
  const { log, deadMs, allowedRegistries, ecrEndpoint, imageMap } = options;
  const { buildCacheMb, buildTimeoutMs, peerListen, warm } = options;
  if (peerListen && options.databaseUrl === undefined)
    throw new UserError('several servers need a database that they share: name it by --database');
  const credentials = readCredentials(options.files, 'platform');
  await using cleanup = new AsyncDisposableStack();
  const dataDir = openDataFolder(options.dataDir);
  const lock = await lockDataFolder(dataDir, { waitMs: 5_000 });
  cleanup.defer(() => lock.release());
  requireUse(dataDir, 'server');
  markOfServer(dataDir);
  writeServerProcess(dataDir);
  cleanup.defer(() => removeServerProcess(dataDir));
  // Left by a killed server: its pid may belong to another program now, which "down" would end.
  removeServerAddress(dataDir);
  let blobs: BlobStore | undefined;
  cleanup.defer(async () => blobs?.close());
  const metrics =
    options.metricsListen &&
    (await (await import('../prometheus/open-metrics.ts')).openMetrics(options.metricsListen, log));
  cleanup.defer(async () => metrics?.close());
  const owner = `${hostname()} ${process.pid} ${randomUUID()}`;
  const replicaOwner = peerListen && owner;
  let peers: RunningPeers | undefined;
  cleanup.defer(async () => peers?.close());
  const serving = await serve(
    { ...options, dataDir, owner: replicaOwner, metrics },
    async ({ store, secret, server }) => {
      const installation = toInstallation(secret);
      blobs = options.blobStore && (await openServerBlobs(options.blobStore, { installation, log }));
      if (peerListen) {
        await requireOneSecret(store, { installation, dataDir });
        peers = await listenForPeers({ listen: peerListen, credentials, server, log });
      }
      const toNodeAddress = ({ name, address }: ListedNode) => ({ name, ...parseAddress(address) });
      const clock = createSystemClock();
      const fleet = createFleet({
        membership: await openMembership(options.membership, { store, clock, log }),
        store,
        clock,
        log,
        deadMs,
        blobs: blobs && toCopyStore(blobs),
        replica: peers && {
          ...{ owner, address: peers.address, leaseMs },
          openDoor: (node, run, port, options) =>
            dialDoor({ address: toNodeAddress(node), credentials }, { installation, ...run, port }, options),
          imagesAt: (node) => createRemoteImages({ address: toNodeAddress(node), credentials, installation }),
        },
        connect: ({ name, address, epoch }, { onAnswer, onFailure }) => {
          let templates: HostImages | undefined;
          const connection = connectNode({
            address: { name, ...parseAddress(address) },
            credentials,
            claim: { installation, owner, epoch },
            store: blobs && { blobs, key: toSigningKey(secret) },
            onAnswer: (description) => {
              const { runtime } = connection;
              if (templates === undefined && runtime !== undefined)
                templates = openNodeTemplateImages(runtime.transport, {
                  folder: description.templatesFolder,
                  ...{ allowedRegistries, ecrEndpoint, imageMap },
                });
              onAnswer(description);
            },
            onFailure,
          });
          return {
            get runtime() {
              return connection.runtime;
            },
            get images() {
              return templates && { ...connection.images, templates };
            },
            get measureFolder() {
              return connection.runtime?.measureFolder;
            },
            get snapshots() {
              return connection.snapshots;
            },
            close: () => connection.close(),
          };
        },
      });
      const buildFiles = {
        folder: join(dataDir, 'contexts'),
        maxTotalBytes: options.maxContextMb * 2 ** 20,
        readSpareBytes,
      };
      const mountCaches = { folder: join(dataDir, 'mount-caches'), readSpareBytes };
      const limits = { buildCacheMb, buildTimeoutMs, warmMin: warm.min, warmMax: warm.max };
      return { hosts: fleet, images: fleet.images, peers, buildFiles, mountCaches, limits };
    },
  );
  cleanup.defer(() => serving.close());
  const running = cleanup.move();
  return { address: serving.address, drain: serving.drain, close: () => running.disposeAsync() };
}

/** An id that all servers with the secret have, and from which nodes do not learn the secret. */
const toInstallation = (secret: string): string =>
  createHash('sha256').update(`installation of ${secret}`).digest('hex').slice(0, 32);

/** The key with which servers sign the manifests of snapshots in the blob store. */
const toSigningKey = (secret: string): string =>
  createHash('sha256').update(`manifests of ${secret}`).digest('hex');

/** Rejects with `UserError` when another server of the database has another secret: tokens of sandboxes would not be valid there. */
async function requireOneSecret(
  store: Pick<Store, 'takeLease'>,
  { installation, dataDir }: { installation: string; dataDir: string },
): Promise<void> {
  const forever = 100 * 365 * 86_400_000;
  const holder = { owner: installation, address: '', leaseMs: forever };
  if (!(await store.takeLease('*installation', holder)))
    throw new UserError(
      `the other servers of the database have another secret: copy the file "secret" from the data folder of one of them to ${dataDir}`,
    );
}

/** The nodes of a file, one on each line. Throws `UserError` with the number of a line that is none. */
export function readNodesFile(path: string): ListedNode[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const text = line.trim();
      if (text === '' || text.startsWith('#')) return [];
      try {
        return [parseNode(text)];
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        throw new UserError(`${path}, line ${index + 1}: ${error.message}`);
      }
    });
}
