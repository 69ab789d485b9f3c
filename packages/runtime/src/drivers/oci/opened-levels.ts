import { abortable } from '@skerry/contract/abortable';
import { type IsolationLevel, levelsFrom, strongestOf } from '@skerry/contract/isolation';
import { isRuntimeError, RuntimeError } from '../../error.ts';
import type { Runtime } from '../../runtime.ts';
import type { HostClass } from './compatibility/compatibility-class.ts';
import type { SeccompInput } from './container/bundle.ts';
import type { OciRuntime, OciRuntimeName, Sentry } from './container/oci-runtime.ts';
import type { Criu } from './criu/criu.ts';
import { type Level, levelOf, levels, type RecordedLevel } from './levels.ts';

/** What a host starts the sandboxes of one level with, and keeps their memory with. */
export interface OpenedLevel {
  readonly runtime: OciRuntime;
  readonly seccomp: SeccompInput;
  /** One of the two keeps memory, or neither. */
  readonly criu: Criu | undefined;
  readonly sentry: Sentry | undefined;
  /** See `createHostClassReader`. */
  readonly readClass: () => Promise<HostClass | undefined>;
}

/** The programs that start sandboxes of one level, and that keep their memory. */
export interface LevelPrograms {
  /** Default: crun, or runc when that is missing. */
  ociRuntime?: OciRuntimeName | undefined;
  /** The path that `prepareRunsc` resolved with. */
  runscPath?: string | undefined;
  /** The folder that `prepareCriu` has made. */
  criuDir?: string | undefined;
  /** Whether memory is kept at level `gvisor`. */
  keepsMemory?: boolean | undefined;
}

/** Calls `use` with a runtime that starts test sandboxes of a level with these programs; `use` ends them. Resolves with its result. */
export type TryPrograms = <T>(programs: LevelPrograms, use: (runtime: Runtime) => Promise<T>) => Promise<T>;

/** Calls `use` with a runtime that starts test sandboxes of a level which other callers cannot use yet; `use` ends them. */
export type TryLevel = <T>(
  level: IsolationLevel,
  opened: OpenedLevel,
  use: (runtime: Runtime) => Promise<T>,
) => Promise<T>;

/** A level that opens at its first use, so that a server need not wait for its programs at the start. */
export interface LaterLevel {
  /** Whether its sandboxes should keep their memory. */
  keepsMemory: boolean;
  /** Fetches the programs, and tries them. Rejects with the reason why no sandbox of the level starts here. */
  open(tryPrograms: TryPrograms): Promise<LevelPrograms>;
}

export interface LevelHost {
  /** The open levels. */
  readonly levels: Readonly<Partial<Record<IsolationLevel, OpenedLevel>>>;
  /** Whether this host runs the level, as far as is known before it is open. */
  readonly runsLevel: (name: IsolationLevel) => boolean;
  /** Opens a level that is not open yet. A failure is not remembered: the next call tries again. */
  readonly openLevel: (name: IsolationLevel) => Promise<void>;
  /** The level of a sandbox whose create names none. This host runs that level. */
  readonly defaultLevel: IsolationLevel;
  /** No run begins below it. */
  readonly minimumLevel: IsolationLevel;
}

/** Opens the level of the record, where it is not open. Rejects with the reason when no sandbox of the level starts here. */
export const ensureLevel = async (
  host: LevelHost,
  record: RecordedLevel | undefined,
  signal?: AbortSignal,
): Promise<void> => {
  const { name } = levelOf(record);
  if (host.levels[name] !== undefined || !host.runsLevel(name)) return;
  const opening = host.openLevel(name);
  await (signal ? abortable(opening, signal).catch((cause: unknown) => failedOpening(name, cause)) : opening);
};

/** An opening that the caller no longer waits for goes on: the next caller finds the level open. */
const failedOpening = (name: IsolationLevel, cause: unknown): never => {
  if (isRuntimeError(cause)) throw cause;
  throw new RuntimeError('unavailable', `aborted while level ${name} was being prepared on this host`, {
    cause,
  });
};

/** Returns what sandboxes of the record's level are started with here. Throws `unsupported` when the level is not open. */
export const openedLevel = (host: LevelHost, record: RecordedLevel): OpenedLevel => {
  const { name } = levelOf(record);
  const opened = host.levels[name];
  if (opened === undefined) throw new RuntimeError('unsupported', `this host does not run level ${name}`);
  return opened;
};

/**
 * Chooses the level of the next run, and opens it: the weakest of this host that is not weaker than each of the given levels and the
 * minimum of the host. A sandbox never starts at a weaker level than it has run at: the level was chosen because its code is not trusted.
 * Rejects with `unsupported`, naming the sandbox or snapshot, when this host runs no such level, and otherwise as `ensureLevel`.
 */
export const chooseLevel = async (
  host: LevelHost,
  given: readonly IsolationLevel[],
  name: string,
  signal?: AbortSignal,
): Promise<Level> => {
  const needed = strongestOf([...given, host.minimumLevel]);
  const chosen = levelsFrom(needed).find(host.runsLevel);
  if (chosen !== undefined) {
    await ensureLevel(host, levels[chosen].recorded, signal);
    return levels[chosen];
  }
  throw new RuntimeError('unsupported', `${name} is of level ${needed}, which this host does not run`);
};
