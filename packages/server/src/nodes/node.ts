import { availableParallelism, freemem, totalmem } from 'node:os';
import { join } from 'node:path';
import { createQuietLog } from '@skerry/contract/quiet-log';
import { forwardImagesService, openImageFiles } from '@skerry/images';
import { measureEntries } from '@skerry/platform/measure-entries';
import { RuntimeError } from '@skerry/runtime';
import {
  type CredentialFiles,
  CredentialsError,
  checkFileSystem,
  loadCredentials,
  serveNode,
  toSnapshotSocket,
} from '@skerry/runtime/node';
import { readSpareRoom } from '@skerry/runtime/room';
import { ownerFile, requireUse } from '../data-folder/folder-use.ts';
import { openHostMetrics } from '../prometheus/open-host-metrics.ts';
import type { MetricsListen } from '../prometheus/open-metrics.ts';
import { type HostOptions, openHost } from '../serving/host.ts';
import { UserError } from '../user-error.ts';

export interface NodeOptions extends Omit<HostOptions, 'ports'> {
  files: CredentialFiles;
  /** Port 0 picks a free one. */
  listen: { host: string; port: number };
  /** How many sandboxes may start or run at a time. */
  maxSandboxes: number;
  /** The version of skerry. */
  version: string;
  /** Where metrics are served; absent: nowhere. */
  metricsListen?: MetricsListen | undefined;
}

export interface RunningNode {
  address: { name: string; host: string; port: number };
  /** Resolves with the reason when the node can no longer work and must be closed. Never rejects. */
  failed: Promise<UserError>;
  /** Stops serving. Sandboxes live on, and the next node of the folder finds them. */
  close(): Promise<void>;
}

/**
 * Makes the sandboxes of a server on another machine: one data folder, one helper, one port with TLS. Resolves when it serves.
 * Rejects, with nothing left running, when the certificate cannot be used, the folder is in use or a part cannot start.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { files, listen, log, maxSandboxes, metricsListen, version } = options;
  if (process.getuid?.() !== 0) throw new UserError('a node needs root');
  const credentials = readCredentials(files, 'node');
  const { role } = credentials;
  requireUse(options.dataDir, 'node');
  await using cleanup = new AsyncDisposableStack();
  const ports = [
    { option: '--listen', ...listen },
    ...(metricsListen ? [{ option: '--metrics-listen', ...metricsListen }] : []),
  ];
  const host = await openHost({ ...options, ports });
  cleanup.defer(() => host.close());
  const { rootfs, digest } = host.base;
  const templatesFolder = join(host.dataDir, 'templates');
  const imageFiles = await openImageFiles({
    folder: templatesFolder,
    incoming: join(host.dataDir, 'incoming'),
    requireRoom: (sizeBytes) => {
      if (sizeBytes > readSpareRoom(host.dataDir).sizeBytes)
        throw new RuntimeError('exhausted', 'the node has too little room for the image');
    },
    check: checkFileSystem,
  });
  const folders = {
    templates: templatesFolder,
    baseImages: host.imagesDir,
    snapshots: join(host.dataDir, 'snapshots'),
    sandboxes: join(host.dataDir, 'sandboxes'),
  };
  const server = await serveNode(host.runtime, {
    listen,
    credentials,
    ownerFile: ownerFile(host.dataDir),
    images: imageFiles,
    measureFolder: (folder) => measureEntries(folders[folder]),
    snapshotSocket: toSnapshotSocket(host.dataDir),
    addServices: (router) => forwardImagesService(router, host.images),
    describe: () => ({
      version,
      base: { rootfs, digest },
      templatesFolder,
      room: { sandboxes: maxSandboxes, memoryBytes: totalmem(), cpuCount: availableParallelism() },
      usedMemoryBytes: totalmem() - freemem(),
    }),
    onOwner: ({ owner, epoch }) => log.info('a server owns this node', { owner, epoch }),
    onError: (error) => log.warn('a connection failed', { error }),
    onStranger: createQuietLog({ warn: (message, fields) => log.warn(message, fields) }),
  });
  cleanup.defer(() => server.close());
  const measured = { ...host, epoch: () => server.epoch };
  const metrics = metricsListen && (await openHostMetrics(metricsListen, measured, options));
  cleanup.defer(async () => metrics?.close());
  const running = cleanup.move();
  return {
    address: { name: role.role === 'node' ? role.name : '', ...server.address },
    failed: host.failed,
    close: () => running.disposeAsync(),
  };
}

/** Returns the credentials in these files. Throws `UserError` where a file is missing or unsuitable for the role. */
export function readCredentials(
  files: CredentialFiles,
  role: 'node' | 'platform',
): ReturnType<typeof loadCredentials> {
  try {
    return loadCredentials(files, { role });
  } catch (error) {
    throw error instanceof CredentialsError ? new UserError(error.message, { cause: error }) : error;
  }
}
