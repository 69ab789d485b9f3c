import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import {
  createEdge,
  edgeServerOptions,
  guardConnections,
  readDescriptorLimit,
  toConnectionBounds,
  watchDescriptors,
} from '@skerry/edge';
import type { NpmClient } from '@skerry/images';
import type { BaseContents } from '@skerry/images/base-contents';
import type { ImageRule } from '@skerry/images/image-map';
import { createPlatform, createSystemClock, ensureApiKey, ensureSecret, type Log } from '@skerry/platform';
import {
  type Features,
  type HelperFault,
  type HelperOptions,
  identifyProcess,
  isRuntimeError,
  type ProcessIdentity,
  prepareAgentFolder,
} from '@skerry/runtime';
import { readSpareRoom } from '@skerry/runtime/room';
import { type BaseImageRequest, startHelperWithImage } from './base-image.ts';
import { CliError } from './cli-error.ts';
import { currentRootlessState } from './current-rootless-state.ts';
import {
  openDataFolder,
  openImagesFolder,
  removeServerAddress,
  type ServerAddress,
  writeServerAddress,
} from './data-folder.ts';
import { lockDataFolder } from './data-lock.ts';
import { openStore } from './database/database.ts';
import { findLocations } from './locations.ts';
import { logAccess } from './log/access-log.ts';
import { warnOfOpenPort } from './log/open-port.ts';
import { describeLimits, leaveRootlessNamespace, toRootlessOptions } from './rootless.ts';
import { removeServerProcess, writeServerProcess } from './server-process.ts';
import { openTemplateImages } from './template-images.ts';

export interface UpOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  dataDir: string;
  /** The folder of base images; several data folders may share it. */
  imagesDir?: string;
  /** Of the PostgreSQL database for the state, which may have a password; absent: a file in the data folder. */
  databaseUrl?: string;
  /** What the base template contains. */
  base: BaseContents;
  /** The npm of this host, for Node.js in the base template; undefined: there is none. */
  npm: NpmClient | undefined;
  /** OCI reference of the base template; if absent or unreachable, the distribution's packages are used. */
  baseImage?: string;
  /** Public domain of the sandboxes with its port; derived from host and port when absent. */
  domain?: string;
  /** Sandboxes of the base template that are always started in advance, and the maximum under recent demand. */
  warm?: { min: number; max: number };
  /** The concurrency limit; paused sandboxes do not count. */
  maxSandboxes: number;
  /** Memory of a sandbox of the base template; only the first start in a data folder decides. */
  baseMemoryMb?: number;
  /** The space for the results of steps of builds; 0: none are kept. */
  buildCacheMb: number;
  /** A build of a template that takes longer fails. */
  buildTimeoutMs: number;
  /** Whether a pause can checkpoint the memory of a sandbox, where the host supports that. */
  keepsMemory: boolean;
  /** A CRIU of this host for checkpoints instead of the downloaded one: for level `container`, as root. */
  criuProgram?: string;
  /** How a sandbox is separated from the host's kernel. */
  isolation: IsolationLevel;
  /**
   * How often the helper may die within a minute, or in a row at its start; the last of these fails the server. 0: no
   * limit.
   */
  maxHelperFaults: number;
  /** Whether calls to sandboxes must declare their version of the Connect protocol. */
  requireProtocolVersion: boolean;
  /** Whether `POST /sandboxes` without `secure` creates a sandbox that requires its token. */
  secureByDefault: boolean;
  /** Further host names, without port, on which the routing headers apply. */
  sharedHosts: readonly string[];
  /** Authorities, `host[:port]`, of registries that builds may use at any address; others must be public. */
  allowedRegistries: readonly string[];
  /** What names of images mean to builds. */
  imageMap: readonly ImageRule[];
  /** URL of the API of ECR, which issues tokens for access keys of AWS; by default that of AWS for the region. */
  ecrEndpoint: string | undefined;
  /** What the files that builds copy may take together, in MiB. */
  maxContextMb: number;
  /** What the helper needs of this process's environment to reach registries. */
  helperEnvironment: Readonly<Record<string, string>>;
  log: Log;
  /** Whether each request is a line of the log, at level `debug`. */
  logsAccess: boolean;
  onProgress: BaseImageRequest['onProgress'];
  signal: AbortSignal;
}

export interface RunningServer {
  address: ServerAddress;
  /** Resolves with the reason when the server can no longer work and must be closed. Never rejects. */
  failed: Promise<CliError>;
  /** Stops serving. Sandboxes live on, and the next server of the folder finds them. */
  close(): Promise<void>;
}

/**
 * Composes the whole service: one data folder, one helper process that makes sandboxes, one port for API and edge.
 * Resolves when requests are served. Rejects, with nothing left running, when the folder is in use or a part cannot
 * start.
 */
export async function startServer(options: UpOptions): Promise<RunningServer> {
  const { host, keepsMemory, isolation, requireProtocolVersion, secureByDefault, sharedHosts } = options;
  const { log, onProgress, signal } = options;
  const locations = findLocations();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => leaveRootlessNamespace());
  const dataDir = openDataFolder(options.dataDir);
  if (isolation !== 'container' && currentRootlessState() !== undefined)
    throw new CliError(`--isolation ${isolation} needs root`);
  const isMemoryExpected = keepsMemory && currentRootlessState() === undefined;
  const usesCriu = isMemoryExpected && isolation === 'container';
  if (options.criuProgram && !usesCriu)
    throw new CliError(
      '--criu has no effect here: CRIU is used by root only, with --isolation container and without --no-memory',
    );

  const lock = await lockDataFolder(dataDir, { waitMs: 5_000 });
  cleanup.defer(() => lock.release());
  writeServerProcess(dataDir);
  cleanup.defer(() => removeServerProcess(dataDir));
  // Left by a killed server: its pid may belong to another program now, which "down" would end.
  removeServerAddress(dataDir);

  const imagesDir = openImagesFolder(resolve(options.imagesDir ?? join(dataDir, 'images')));
  const agentDir = await prepareAgentFolder({
    targetDir: join(dataDir, 'agent'),
    nodePath: process.execPath,
    bundleDir: locations.agentBundle,
  });

  const { promise: failed, resolve: fail } = Promise.withResolvers<CliError>();
  const helper: HelperOptions = {
    mainPath: locations.helperProgram,
    environment: options.helperEnvironment,
    dataDir,
    agentDir,
    driver: {
      name: 'oci',
      level: isolation,
      keepsMemory: isMemoryExpected,
      programsDir: imagesDir,
      criuProgram: options.criuProgram,
    },
    faultLimit: options.maxHelperFaults,
    onFault: (fault) => {
      const { how, count, isStarting, restartInMs } = fault;
      log.warn('the helper died', {
        how,
        [isStarting ? 'inRowAsItStarts' : 'withinLastMinute']: count,
        restartInMs,
      });
      if (restartInMs === undefined) fail(toHelperFailure(fault));
    },
    signal,
    ...toRootlessOptions(),
  };
  const { runtime, images, base, close } = await startHelperWithImage({
    helper,
    imagesDir,
    contents: options.base,
    npm: options.npm,
    registryImage: options.baseImage,
    onProgress,
    signal,
  }).catch((error: unknown): never => {
    throw isRuntimeError(error, 'unsupported') ? new CliError(error.message, { cause: error }) : error;
  });
  cleanup.defer(close);
  warnOfMissingLimits(runtime.features, log);
  if (isMemoryExpected && !runtime.features.pause.memory) log.warn(MEMORY_IS_LOST);

  const server = createServer(edgeServerOptions);
  cleanup.defer(() => closeServer(server));
  const descriptorLimit = readDescriptorLimit();
  const guard = guardConnections(server, { bounds: toConnectionBounds(descriptorLimit), log });
  cleanup.defer(watchDescriptors({ limit: descriptorLimit, log }));
  // Early callers wait until every sandbox is found again: without a listener they would never get a response.
  const { promise: ready, resolve: openDoor } = Promise.withResolvers<void>();
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    guard.begin(request, response);
    await ready;
    const isForSandbox = edge.isSandboxRequest(request);
    if (options.logsAccess) logAccess(log, request, response, { isForSandbox });
    if (isForSandbox) edge.handle(request, response);
    else platform.routing(request, response);
  };
  server.on('request', (request, response) => void route(request, response));
  // An expectation other than 100-continue may be ignored (RFC 9110, 10.1.1). Node answers 417 without the CORS headers of the edge.
  server.on('checkExpectation', (request, response) => void route(request, response));
  await listen(server, { host, port: options.port });
  warnOfOpenPort(host, log);
  const { port } = server.address() as AddressInfo;
  const publicHost = isAnyOrLoopback(host) ? 'localhost' : host;
  const domain = options.domain ?? `${publicHost}:${port}`;

  const store = await openStore(dataDir, options.databaseUrl, log);
  cleanup.defer(() => store.close());
  const madeWithMb = (await store.findTemplate('base'))?.memoryMb;
  if (options.baseMemoryMb && madeWithMb && madeWithMb !== options.baseMemoryMb)
    throw new CliError(
      `sandboxes of this data folder have ${madeWithMb} MiB, which --base-memory cannot change`,
    );
  const secret = await ensureSecret({ dataDir });
  const apiKey = await ensureApiKey({ dataDir, store, clock: createSystemClock() });
  const platform = createPlatform({
    runtime,
    store,
    secret,
    images: {
      base,
      templates: openTemplateImages(images, {
        features: runtime.features,
        dataDir,
        allowedRegistries: options.allowedRegistries,
        ecrEndpoint: options.ecrEndpoint,
        imageMap: options.imageMap,
        keepsLayers: options.buildCacheMb > 0,
      }),
    },
    contexts: runtime.features.imageExport
      ? {
          folder: join(dataDir, 'contexts'),
          maxTotalBytes: options.maxContextMb * 2 ** 20,
          readSpareBytes,
        }
      : undefined,
    imports: runtime.features.imageExport ? { folder: join(dataDir, 'imports'), readSpareBytes } : undefined,
    folders: {
      templates: join(dataDir, 'templates'),
      layers: join(dataDir, 'layers'),
      baseImages: imagesDir,
      snapshots: join(dataDir, 'snapshots'),
      sandboxes: join(dataDir, 'sandboxes'),
    },
    domain,
    log,
    onAuthorised: (request) => guard.accept(request, 'authorised'),
    onLinked: (request) => guard.accept(request, 'routed'),
    secureByDefault,
    limits: {
      maxSandboxes: options.maxSandboxes,
      buildCacheMb: options.buildCacheMb,
      buildTimeoutMs: options.buildTimeoutMs,
      ...(options.baseMemoryMb && { memoryMb: options.baseMemoryMb }),
      ...(options.warm && { warmMin: options.warm.min, warmMax: options.warm.max }),
    },
  });
  cleanup.defer(() => platform.close());
  const edge = createEdge({
    directory: platform.directory,
    domain,
    sharedHosts,
    log,
    onRouted: (request) => guard.accept(request, 'routed'),
    requireProtocolVersion,
  });
  cleanup.defer(() => edge.close());

  server.on('checkContinue', (request, response) => {
    // The server inside a sandbox decides about requests to it.
    if (!edge.isSandboxRequest(request)) response.writeContinue();
    void route(request, response);
  });
  await platform.start();
  openDoor();
  server.on('upgrade', (request, socket, head) => {
    if (options.logsAccess) logAccess(log, request, socket, { isForSandbox: true });
    guard.beginUpgrade(request);
    edge.upgrade(request, socket, head);
  });

  const ownIdentity = identifyProcess(process.pid) as ProcessIdentity;
  const address: ServerAddress = {
    apiUrl: `http://${publicHost}:${port}`,
    sandboxUrl: `http://${publicHost}:${port}`,
    domain,
    apiKey,
  };
  writeServerAddress(dataDir, { ...address, ...ownIdentity });
  cleanup.defer(() => removeServerAddress(dataDir));

  const running = cleanup.move();
  return { address, failed, close: () => running.disposeAsync() };
}

const toHelperFailure = ({ how, count, isStarting }: HelperFault): CliError =>
  new CliError(
    `the helper, which runs the sandboxes, died ${count} times ${isStarting ? 'in a row as it started' : 'within a minute'}, at last with ${how}: see the lines above, ` +
      'and run "skerry doctor". Sandboxes live on; "skerry up" finds them again and "skerry down" ends them',
  );
const readSpareBytes = (folder: string): number => readSpareRoom(folder).sizeBytes;
const MEMORY_IS_LOST = 'a pause does not keep the memory of sandboxes: "skerry doctor" reports why';

/** A user who runs untrusted code must know. */
function warnOfMissingLimits({ limits }: Features, log: Log): void {
  const missing = Object.entries(limits).flatMap(([name, holds]) => (holds ? [] : [name]));
  if (missing.length === 0) return;
  const why = describeLimits();
  log.warn(
    `without root of the host, sandboxes have no limit of ${missing.join(', ')}${why ? `; ${why}` : ''}; "skerry doctor" reports more`,
  );
}

function isAnyOrLoopback(host: string): boolean {
  return ['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost'].includes(host);
}

async function listen(
  server: ReturnType<typeof createServer>,
  at: { host: string; port: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function closeServer(server: ReturnType<typeof createServer>): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
