import { join, resolve } from 'node:path';
import type { ForeignMemory } from '@skerry/contract/foreign-memory';
import { type IsolationLevel, levelsFrom, strongestOf } from '@skerry/contract/isolation';
import { ImageError, type NpmClient } from '@skerry/images';
import type { BaseContents } from '@skerry/images/base-contents';
import type { Log } from '@skerry/platform';
import {
  type Features,
  findLevelObstacle,
  type HelperFault,
  type HelperOptions,
  isRuntimeError,
  prepareAgentFolder,
} from '@skerry/runtime';
import {
  type BaseImageRequest,
  type HelperWithImage,
  startHelperWithImage,
} from '../base-image/start-helper-with-image.ts';
import { openDataFolder, openImagesFolder, removeServerAddress } from '../data-folder/data-folder.ts';
import { lockDataFolder } from '../data-folder/data-lock.ts';
import { removeServerProcess, writeServerProcess } from '../data-folder/server-process.ts';
import { currentRootlessState } from '../host/current-rootless-state.ts';
import { describeLimits, leaveRootlessNamespace, toRootlessOptions } from '../host/rootless.ts';
import { findLocations } from '../locations.ts';
import { UserError } from '../user-error.ts';
import { type ListenAddress, requireFreePorts } from './require-free-ports.ts';

/** How this machine makes sandboxes. */
export interface HostOptions {
  dataDir: string;
  /** The folder of base images; several data folders may share it. */
  imagesDir?: string;
  /** What the base template contains. */
  base: BaseContents;
  /** The npm of this host, for Node.js in the base template; undefined: there is none. */
  npm: NpmClient | undefined;
  /** OCI reference of the base template; if absent or unreachable, the distribution's packages are used. */
  baseImage?: string;
  /** Whether a pause can checkpoint the memory of a sandbox, where the host supports that. */
  keepsMemory: boolean;
  /** A CRIU of this host for checkpoints instead of the downloaded one: for level `container`, as root. */
  criuProgram?: string;
  /** Whether memory that comes from a blob store is restored here; absent: there is none. */
  foreignMemory?: ForeignMemory;
  /** How a sandbox is separated from the host's kernel, where its creator asks for no level. */
  isolation: IsolationLevel;
  /** No sandbox starts below it. */
  minimumIsolation: IsolationLevel;
  /**
   * How often the helper may die within a minute, or in a row at its start; the last of these fails the server. 0: no
   * limit.
   */
  maxHelperFaults: number;
  /** What the helper needs of this process's environment to reach registries. */
  helperEnvironment: Readonly<Record<string, string>>;
  /** Where this process will listen. */
  ports: readonly ListenAddress[];
  log: Log;
  onProgress: BaseImageRequest['onProgress'];
  signal: AbortSignal;
}

/** A data folder, locked, with the helper that makes its sandboxes. */
export interface Host extends HelperWithImage {
  /** Absolute. */
  dataDir: string;
  /** The folder of base images. */
  imagesDir: string;
  /** Resolves with the reason when no helper can be kept running. Never rejects. */
  failed: Promise<UserError>;
  /** How often the helper has ended by itself. */
  helperFaults(): number;
  /** Ends the helper and unlocks the folder. Sandboxes live on. */
  close(): Promise<void>;
}

/**
 * Locks the data folder, starts its helper and has it make the base image. Rejects, with nothing left running, when the folder or a port
 * is in use, or this host cannot make sandboxes.
 */
export async function openHost(options: HostOptions): Promise<Host> {
  const { keepsMemory, isolation, minimumIsolation, log, onProgress, signal } = options;
  const locations = findLocations();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => leaveRootlessNamespace());
  const dataDir = openDataFolder(options.dataDir);
  if (strongestOf([isolation, minimumIsolation]) !== isolation)
    throw new UserError(
      `--isolation ${isolation} is below --isolation-min ${minimumIsolation}: a sandbox whose creator asks for no level could not start`,
    );
  const rootless = currentRootlessState() !== undefined;
  // Root may have programs in the folder of images, which are looked for when the level opens.
  const obstacle = rootless ? findLevelObstacle(isolation, { rootless }) : undefined;
  if (obstacle !== undefined) throw new UserError(`--isolation ${isolation}: ${obstacle}`);
  const isMemoryExpected = keepsMemory && !rootless;
  const usesCriu = isMemoryExpected && levelsFrom(minimumIsolation).includes('container');
  if (options.criuProgram && !usesCriu)
    throw new UserError(
      '--criu has no effect here: CRIU is used by root only, with sandboxes of level container and without --no-memory',
    );

  const lock = await lockDataFolder(dataDir, { waitMs: 5_000 });
  cleanup.defer(() => lock.release());
  await requireFreePorts(options.ports);
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

  let faultCount = 0;
  const { promise: failed, resolve: fail } = Promise.withResolvers<UserError>();
  const helper: HelperOptions = {
    mainPath: locations.helperProgram,
    environment: options.helperEnvironment,
    dataDir,
    agentDir,
    driver: {
      name: 'oci',
      level: isolation,
      minimumLevel: minimumIsolation,
      keepsMemory: isMemoryExpected,
      programsDir: imagesDir,
      criuProgram: options.criuProgram,
      foreignMemory: options.foreignMemory,
    },
    faultLimit: options.maxHelperFaults,
    onFault: (fault) => {
      faultCount += 1;
      const { how, count, isStarting, restartInMs } = fault;
      log.warn('the helper died', {
        how,
        [isStarting ? 'inRowAsItStarts' : 'withinLastMinute']: count,
        restartInMs,
      });
      if (restartInMs === undefined) fail(toHelperFailure(fault));
    },
    onStderrLine: (line) => log.warn(line, { source: 'helper' }),
    signal,
    ...toRootlessOptions(),
  };
  const { runtime, images, base, close } = await startHelperWithImage({
    helper,
    imagesDir,
    contents: options.base,
    npm: options.npm,
    registryImage: options.baseImage,
    log,
    onProgress,
    signal,
  }).catch((error: unknown): never => {
    throw toStartFailure(error);
  });
  cleanup.defer(close);
  warnOfMissingLimits(runtime.features, log);
  if (isMemoryExpected && !runtime.features.pause.memory) log.warn(MEMORY_IS_LOST);

  const running = cleanup.move();
  const helperFaults = () => faultCount;
  return {
    dataDir,
    imagesDir,
    runtime,
    images,
    base,
    failed,
    helperFaults,
    close: () => running.disposeAsync(),
  };
}

/** Turns an error that the operator can resolve into one that says how. */
function toStartFailure(error: unknown): unknown {
  if (isRuntimeError(error, 'unsupported') || isRuntimeError(error, 'damaged'))
    return new UserError(error.message, { cause: error });
  if (!(error instanceof ImageError)) return error;
  const [message = '', ...output] = error.message.split('\n');
  return new UserError(`the base image was not made: ${message}`, {
    cause: error,
    hint: error.remedy,
    output,
  });
}

const toHelperFailure = ({ how, count, isStarting }: HelperFault): UserError =>
  new UserError(
    `the helper, which runs the sandboxes, died ${count} times ${isStarting ? 'in a row as it started' : 'within a minute'}, at last with ${how}: see the lines above, ` +
      'and run "skerry doctor". Sandboxes live on; "skerry up" finds them again and "skerry down" ends them',
  );
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
