import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { createEdge, edgeServerOptions } from '@skerry/edge';
import { ensureBaseImage } from '@skerry/images';
import {
  createPlatform,
  createStore,
  createSystemClock,
  ensureApiKey,
  ensureSecret,
  type Log,
} from '@skerry/platform';
import {
  type Features,
  type HelperFault,
  identifyProcess,
  type ProcessIdentity,
  prepareAgentFolder,
  prepareCriu,
  prepareRunsc,
  startHelper,
} from '@skerry/runtime';
import { CliError } from './cli-error.ts';
import { currentGround } from './current-ground.ts';
import {
  openDataFolder,
  removeServerAddress,
  type ServerAddress,
  writeServerAddress,
} from './data-folder.ts';
import { lockDataFolder } from './data-lock.ts';
import { describeLimits, leaveGround, toGroundOptions, toImageOptions } from './ground.ts';
import { findLocations } from './locations.ts';
import { removeServerProcess, writeServerProcess } from './server-process.ts';

export interface UpOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  dataDir: string;
  /** Where base images are kept; may be shared by several data folders. */
  imagesDir?: string;
  /** OCI reference to make the base template from; the distribution's packages when absent or unreachable. */
  baseImage?: string;
  /** Public domain of the sandboxes with its port; derived from host and port when absent. */
  domain?: string;
  /** Sandboxes of the base template that are always started ahead, and the most that recent demand may make it. */
  warm?: { min: number; max: number };
  /** How many may live at the same time; paused ones do not count. */
  maxSandboxes: number;
  /** Memory of a sandbox of the base template; only the first start in a data folder decides. */
  baseMemoryMb?: number;
  /** Whether a pause can keep the memory of a sandbox, where the host can do that. */
  keepsMemory: boolean;
  /** A CRIU of this host that keeps memory in place of the one that is fetched: for level `container`, as root. */
  criuProgram?: string;
  /** What stands between a sandbox and the host's kernel. */
  isolation: IsolationLevel;
  /** How many times the helper may die within a minute, or in a row as it starts; with the last of them the server has failed. 0: any number. */
  maxHelperFaults: number;
  /** Whether calls of sandboxes must say which version of the Connect protocol they speak. */
  requireProtocolVersion: boolean;
  /** Whether `POST /sandboxes` without `secure` makes a sandbox that asks for its token. */
  secureByDefault: boolean;
  /** Further host names, without port, on which the routing headers count. */
  sharedHosts: readonly string[];
  log: Log;
  onProgress: (message: string) => void;
  signal: AbortSignal;
}

export interface RunningServer {
  address: ServerAddress;
  /** Resolves with the reason when the server cannot do its work any more; it is to be closed then. Never rejects. */
  failed: Promise<CliError>;
  /** Stops serving. Sandboxes live on and are found again by the next server of the folder. */
  close(): Promise<void>;
}

/**
 * Puts the whole service together: one data folder, one helper process that makes sandboxes, one port for API and edge.
 * Resolves when requests are served. Rejects, with nothing left running, when the folder is in use or a part cannot start.
 */
export async function startServer(options: UpOptions): Promise<RunningServer> {
  const { host, keepsMemory, isolation, requireProtocolVersion, secureByDefault, sharedHosts } = options;
  const { log, onProgress, signal } = options;
  const locations = findLocations();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => leaveGround());
  const dataDir = openDataFolder(options.dataDir);
  if (isolation !== 'container' && currentGround() !== undefined)
    throw new CliError(`--isolation ${isolation} needs root`);
  const usesCriu = keepsMemory && isolation === 'container' && currentGround() === undefined;
  if (options.criuProgram && !usesCriu)
    throw new CliError(
      '--criu has no effect here: CRIU is used by root only, with --isolation container and without --no-memory',
    );

  const lock = await lockDataFolder(dataDir, { waitMs: 5_000 });
  cleanup.defer(() => lock.release());
  writeServerProcess(dataDir);
  cleanup.defer(() => removeServerProcess(dataDir));
  // Left by a server that was killed: the pid in it may be another program's by now, which "down" would end.
  removeServerAddress(dataDir);

  const imagesDir = options.imagesDir ?? join(dataDir, 'images');
  const [agentDir, base, criuDir, runscPath] = await Promise.all([
    prepareAgentFolder({
      targetDir: join(dataDir, 'agent'),
      nodePath: process.execPath,
      bundleDir: locations.agentBundle,
    }),
    ensureBaseImage({
      imagesDir,
      onProgress: ({ message }) => onProgress(message),
      ...(options.baseImage ? { registryImage: options.baseImage } : {}),
      ...toImageOptions(),
      signal,
    }),
    usesCriu ? findCriu({ imagesDir, program: options.criuProgram, log, signal }) : undefined,
    // A server that was asked for more does not start with less.
    isolation === 'gvisor' ? prepareRunsc({ targetDir: imagesDir, signal }) : undefined,
  ]);

  const { promise: failed, resolve: fail } = Promise.withResolvers<CliError>();
  const mainPath = locations.helperProgram;
  const runtime = await startHelper({
    mainPath,
    dataDir,
    agentDir,
    driver: { name: 'oci', criuDir, runscPath, keepsMemory },
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
    ...toGroundOptions(),
  });
  cleanup.defer(() => runtime.close());
  warnOfMissingLimits(runtime.features, log);
  const isMemoryExpected = criuDir !== undefined || (keepsMemory && runscPath !== undefined);
  if (isMemoryExpected && !runtime.features.pause.memory) log.warn(MEMORY_IS_LOST);

  const server = createServer(edgeServerOptions);
  cleanup.defer(() => closeServer(server));
  // Whoever calls before everything is found again waits for that: without a listener nobody would ever answer.
  const { promise: ready, resolve: openDoor } = Promise.withResolvers<void>();
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await ready;
    if (edge.isSandboxRequest(request)) edge.handle(request, response);
    else platform.routing(request, response);
  };
  server.on('request', (request, response) => void route(request, response));
  await listen(server, { host, port: options.port });
  const { port } = server.address() as AddressInfo;
  const publicHost = isAnyOrLoopback(host) ? 'localhost' : host;
  const domain = options.domain ?? `${publicHost}:${port}`;

  const store = await createStore({ path: join(dataDir, 'skerry.db') });
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
    images: { base },
    domain,
    log,
    secureByDefault,
    limits: {
      maxSandboxes: options.maxSandboxes,
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
    requireProtocolVersion,
  });
  cleanup.defer(() => edge.close());

  server.on('checkContinue', (request, response) => {
    // What is meant for a sandbox is for its own server to decide.
    if (!edge.isSandboxRequest(request)) response.writeContinue();
    void route(request, response);
  });
  await platform.start();
  openDoor();
  server.on('upgrade', (request, socket, head) => edge.upgrade(request, socket, head));

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
    `the helper, which runs the sandboxes, died ${count} times ${isStarting ? 'in a row as it started' : 'within a minute'}, at last with ${how}: the lines above say more, ` +
      'and "skerry doctor" tries what it needs. Sandboxes live on; "skerry up" finds them again and "skerry down" ends them',
  );
const MEMORY_IS_LOST = 'memory of sandboxes is not kept over a pause: "skerry doctor" tells why';

/** Whoever runs code of others here should know. */
function warnOfMissingLimits({ limits }: Features, log: Log): void {
  const missing = Object.entries(limits).flatMap(([name, holds]) => (holds ? [] : [name]));
  if (missing.length === 0) return;
  const why = describeLimits();
  log.warn(
    `without root of the host, sandboxes have no limit of ${missing.join(', ')}${why ? `; ${why}` : ''}; "skerry doctor" tells more`,
  );
}

/** Undefined where it cannot be had: everything but memory works without. Rejects when the one that was named cannot be used. */
async function findCriu(options: {
  imagesDir: string;
  program: string | undefined;
  log: Log;
  signal: AbortSignal;
}): Promise<string | undefined> {
  const { imagesDir, program, log, signal } = options;
  try {
    return await prepareCriu({ targetDir: imagesDir, program, signal });
  } catch (error) {
    if (program !== undefined) throw error;
    log.warn(MEMORY_IS_LOST, { error });
    return undefined;
  }
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
