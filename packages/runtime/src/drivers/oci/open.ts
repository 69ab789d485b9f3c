import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ForeignMemory } from '@skerry/contract/foreign-memory';
import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { isRuntimeError, RuntimeError } from '../../error.ts';
import { createGateway } from '../../network/gateway/gateway.ts';
import { ensureHostNetwork, removeHostNetwork } from '../../network/host.ts';
import type { Surroundings } from '../../network/rules.ts';
import { listSlots } from '../../network/slots.ts';
import type { Runtime } from '../../runtime.ts';
import type { OpenedDriver } from '../opened-driver.ts';
import { UntrustedFileError } from '../own-files.ts';
import { chooseRuntime } from './container/choose-runtime.ts';
import { prepareCriu } from './criu/prepare-criu.ts';
import { ensureMemoryProof } from './criu/prove-memory.ts';
import { prepareRunsc } from './gvisor/prepare-runsc.ts';
import type { RootlessOptions } from './host-backend.ts';
import { createOci, type OciOptions } from './oci.ts';
import type { LaterLevel, LevelPrograms, TryPrograms } from './opened-levels.ts';
import { findLevelObstacle } from './probes/level-obstacle.ts';
import { toSurroundings } from './rootless-backend.ts';
import { createTrial } from './trial.ts';

/** Plain data that the server sends to the helper. */
export interface OciSettings {
  /** The level of a sandbox whose create names none. Default: `container`. */
  level?: IsolationLevel | undefined;
  /** No sandbox starts below it. Default: `level`. */
  minimumLevel?: IsolationLevel | undefined;
  /** Whether memory is kept, where this host supports that. */
  keepsMemory?: boolean | undefined;
  /** The folder for programs that this host lacks: level `gvisor` requires it, and so does memory. */
  programsDir?: string | undefined;
  /** A CRIU of this host in place of the fetched one. */
  criuProgram?: string | undefined;
  /** Whether memory that comes from a blob store is restored here. Default: `allow`. */
  foreignMemory?: ForeignMemory | undefined;
}

export interface OciEnvironment extends Pick<OciOptions, 'dataDir' | 'agentDir'> {
  stateDir: string | undefined;
  rootless: RootlessOptions | undefined;
  /** The program of the gateway for rules by name. Without it no sandbox can have any. */
  gatewayProgram: string | undefined;
  /** Sandboxes are only listed and ended: what starts them is not tried then. */
  startsNone: boolean;
  /** Stops what is being fetched. */
  signal?: AbortSignal | undefined;
}

/**
 * Opens the OCI driver with its default level, proved by trying, and keeps the network of the host ready for its sandboxes. Programs that
 * the host lacks are fetched first; those of other levels at the first use of these. What does not work is reported on stderr.
 *
 * Rejects with `unsupported` when there is no program for the default level, `criuProgram` cannot be used, or a program of that level
 * is another user's; with `damaged` when such a program is not as it was fetched.
 */
export const openOci = async (settings: OciSettings, environment: OciEnvironment): Promise<OpenedDriver> => {
  const { startsNone, stateDir, signal, gatewayProgram, ...where } = environment;
  const { dataDir, rootless } = where;
  const { foreignMemory, level = 'container', minimumLevel = level } = settings;
  // Without root the host of the sandboxes is a namespace whose packets slirp4netns sends again.
  const gateway =
    gatewayProgram !== undefined && rootless === undefined
      ? createGateway({ path: gatewayProgram })
      : undefined;
  const options: OciOptions = {
    ...{ ...where, foreignMemory, gateway },
    ...(stateDir !== undefined && { stateDir }),
  };
  const surroundings = toSurroundings(rootless);
  const opening: Opening = { settings, startsNone, signal };
  const programs = await openLevel(level, {
    ...{ ...opening, options },
    tryPrograms: createTrial({ ...options, level, levels: [level] }),
  });
  const others = startsNone ? [] : isolationLevels.filter((one) => one !== level);
  const runtime = createOci({
    ...{ ...options, ...programs, level, minimumLevel, levels: [level] },
    laterLevels: Object.fromEntries(
      others.flatMap((other) => {
        const later = toLaterLevel(other, options, opening);
        return later ? [[other, later]] : [];
      }),
    ),
  });
  const keep = (): void => void keepHostNetwork({ dataDir, stateDir, surroundings });
  const rounds = setInterval(keep, 60_000);
  keep();
  return {
    runtime,
    snapshotCopies: runtime.snapshotCopies,
    measure: () => runtime.measure(),
    close: async () => {
      await runtime.close();
      clearInterval(rounds);
      gateway?.close();
      await removeHostNetwork({ stateDir });
    },
  };
};

interface Opening {
  settings: OciSettings;
  startsNone: boolean;
  signal: AbortSignal | undefined;
}

/** Where the programs of a level are tried. */
interface Trial {
  options: Pick<OciOptions, 'dataDir' | 'rootless'>;
  tryPrograms: TryPrograms;
}

/** Level → function that fetches the programs which start its sandboxes, where this host lacks them. */
const startPrograms: Record<
  IsolationLevel,
  (settings: OciSettings, signal: AbortSignal | undefined) => Promise<Pick<OciOptions, 'runscPath'>>
> = {
  container: async () => ({}),
  gvisor: async (settings, signal) => ({
    runscPath: await prepareRunsc({ targetDir: toTargetDir(settings), signal }),
  }),
};

/** Finds the programs of a level, proves that they keep memory, and chooses the OCI runtime by trying. */
const openLevel = async (
  level: IsolationLevel,
  { settings, startsNone, signal, options, tryPrograms }: Opening & Trial,
): Promise<LevelPrograms> => {
  const programs = await startPrograms[level](settings, signal);
  const { dataDir, rootless } = options;
  const memory = settings.keepsMemory
    ? await findMemory(programs, { settings, signal, options, tryPrograms })
    : {};
  // A proof of kept memory has started a sandbox; a rootless namespace and gVisor have one OCI runtime only.
  const isSettled =
    startsNone || [memory.criuDir, rootless, programs.runscPath].some((one) => one !== undefined);
  const trial = { dataDir, tryPrograms, onRefusal: reportRefusal };
  const ociRuntime = isSettled ? undefined : await chooseRuntime(trial);
  return { ...programs, ...memory, ...(ociRuntime && { ociRuntime }) };
};

/** Returns how a level that is not the default opens; undefined when something shows beforehand that it does not start here. */
const toLaterLevel = (
  level: IsolationLevel,
  options: OciOptions,
  opening: Opening,
): LaterLevel | undefined => {
  if (findLevelObstacle(level, { rootless: options.rootless !== undefined }) !== undefined) return undefined;
  return {
    keepsMemory: opening.settings.keepsMemory === true,
    open: (tryPrograms) => openLevel(level, { ...opening, options, tryPrograms }),
  };
};

/** A reload of the host's firewall flushes the rules of running sandboxes too. */
const keepHostNetwork = async ({
  dataDir,
  stateDir,
  surroundings,
}: {
  dataDir: string;
  stateDir: string | undefined;
  surroundings: Partial<Surroundings>;
}): Promise<void> => {
  try {
    if ((await listSlots({ dataDir, stateDir })).length > 0)
      await ensureHostNetwork({ stateDir, verify: true, ...surroundings });
  } catch (error) {
    console.error(error);
  }
};

const toTargetDir = ({ programsDir }: OciSettings): string => {
  if (programsDir !== undefined) return programsDir;
  throw new RuntimeError('unsupported', 'there is no folder for programs that this host lacks');
};

interface MemorySupport {
  settings: Pick<OciOptions, 'criuDir' | 'keepsMemory'>;
  program: string;
  proofPath: string;
}

/**
 * Resolves with undefined, and the reason on stderr, when there is no CRIU. Rejects when `criuProgram` cannot be used, or another user
 * can have changed what is there.
 */
const findSupport = async (
  { runscPath, rootless }: Pick<OciOptions, 'runscPath' | 'rootless'>,
  { settings, signal }: { settings: OciSettings; signal: AbortSignal | undefined },
): Promise<MemorySupport | undefined> => {
  if (runscPath !== undefined) {
    const name = rootless === undefined ? 'gvisor-proof.json' : 'gvisor-rootless-proof.json';
    const proofPath = join(toTargetDir(settings), name);
    return { settings: { keepsMemory: true }, program: runscPath, proofPath };
  }
  const { criuProgram } = settings;
  try {
    const criuDir = await prepareCriu({ targetDir: toTargetDir(settings), program: criuProgram, signal });
    // Put the proof beside the folder, whose content may not change.
    return { settings: { criuDir }, program: `${criuDir}/criu`, proofPath: `${criuDir}-proof.json` };
  } catch (error) {
    signal?.throwIfAborted();
    const isForeign = error instanceof UntrustedFileError || isRuntimeError(error, 'damaged');
    if (criuProgram !== undefined || isForeign) throw error;
    reportNoMemory(error);
    return undefined;
  }
};

const reportNoMemory = (error: unknown): void => console.error('memory of sandboxes is not kept:', error);

/** Returns the settings that keep memory on this host; none, with the reason on stderr, where that fails. */
const findMemory = async (
  programs: Pick<LevelPrograms, 'runscPath'>,
  { settings, signal, options: { dataDir, rootless }, tryPrograms }: Omit<Opening, 'startsNone'> & Trial,
): Promise<MemorySupport['settings']> => {
  const support = await findSupport({ ...programs, rootless }, { settings, signal });
  if (support === undefined) return {};
  const isKept = await tryPrograms({ ...programs, ...support.settings }, (runtime) =>
    isMemoryKept(runtime, { dataDir, support, signal }),
  );
  return isKept ? support.settings : {};
};

/** Proves that memory is kept; where that fails, the reason is on stderr. */
const isMemoryKept = async (
  runtime: Runtime,
  {
    dataDir,
    support: { program, proofPath },
    signal,
  }: { dataDir: string; support: MemorySupport; signal: AbortSignal | undefined },
): Promise<boolean> => {
  try {
    const rootfs = join(dataDir, 'run', 'empty');
    await mkdir(rootfs, { recursive: true });
    await ensureMemoryProof(runtime, { program, proofPath, rootfs });
    return true;
  } catch (error) {
    signal?.throwIfAborted();
    reportNoMemory(error);
    return false;
  }
};

const reportRefusal = (name: string, reason: unknown): void =>
  console.error(`${name} starts no sandbox on this host:`, reason);
