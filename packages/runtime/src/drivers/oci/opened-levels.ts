import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { RuntimeError } from '../../error.ts';
import type { HostClass } from './compatibility/compatibility-class.ts';
import type { SeccompInput } from './container/bundle.ts';
import type { OciRuntime, Sentry } from './container/oci-runtime.ts';
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

export interface LevelHost {
  /** The levels that this host runs. */
  readonly levels: Readonly<Partial<Record<IsolationLevel, OpenedLevel>>>;
  /** The level of a sandbox whose create names none. This host runs that level. */
  readonly defaultLevel: IsolationLevel;
  /** No run begins below it. */
  readonly minimumLevel: IsolationLevel;
}

const rank = (name: IsolationLevel): number => isolationLevels.indexOf(name);

/** Returns what sandboxes of the record's level are started with here. Throws `unsupported` when this host does not run that level. */
export const openedLevel = (host: LevelHost, record: RecordedLevel): OpenedLevel => {
  const { name } = levelOf(record);
  const opened = host.levels[name];
  if (opened === undefined) throw new RuntimeError('unsupported', `this host does not run level ${name}`);
  return opened;
};

/**
 * Chooses the level of the next run: the weakest of this host that is not weaker than each of the given levels and the minimum of the
 * host. A sandbox never starts at a weaker level than it has run at: the level was chosen because its code is not trusted. Throws
 * `unsupported`, naming the sandbox or snapshot, when this host runs no such level.
 */
export const chooseLevel = (host: LevelHost, given: readonly IsolationLevel[], name: string): Level => {
  const needed = Math.max(...[...given, host.minimumLevel].map(rank));
  const chosen = isolationLevels.slice(needed).find((one) => host.levels[one]);
  if (chosen !== undefined) return levels[chosen];
  throw new RuntimeError(
    'unsupported',
    `${name} is of level ${isolationLevels[needed]}, which this host does not run`,
  );
};
