import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { RuntimeError } from '../../error.ts';

/** An isolation level, as far as the driver treats its sandboxes in another way than those of the others. */
export interface Level {
  readonly name: IsolationLevel;
  /** How a record stores it: the weakest is absent. */
  readonly recorded: RecordedLevel;
  /** What writes and restores the memory of its sandboxes. */
  readonly checkpointer: 'criu' | 'sentry';
  /** Whether its sandboxes have a network stack that is not the host's. */
  readonly hasOwnStack: boolean;
}

export interface RecordedLevel {
  level?: Exclude<IsolationLevel, 'container'>;
}

export const levels: Readonly<Record<IsolationLevel, Level>> = {
  container: { name: 'container', recorded: {}, checkpointer: 'criu', hasOwnStack: false },
  gvisor: { name: 'gvisor', recorded: { level: 'gvisor' }, checkpointer: 'sentry', hasOwnStack: true },
};

/** Returns the level of a record, and the weakest for a sandbox that has none yet. */
export const levelOf = (record: RecordedLevel | undefined): Level => levels[record?.level ?? 'container'];

/** What a level is read from: the program of a host that starts sandboxes. */
interface LevelHost {
  runtime: { readonly level: IsolationLevel };
}

/** The level of a host, as a record stores it. */
export const toRecordLevel = ({ runtime }: LevelHost): RecordedLevel => levels[runtime.level].recorded;

/**
 * A sandbox never starts at a weaker level than it has run at: the level was chosen because its code is not trusted. Throws `unsupported`,
 * naming it, when this host would do that.
 */
export const requireLevel = ({ runtime }: LevelHost, record: RecordedLevel, name: string): void => {
  const { name: needed } = levelOf(record);
  if (isolationLevels.indexOf(runtime.level) < isolationLevels.indexOf(needed))
    throw new RuntimeError('unsupported', `${name} is of level ${needed}, which this host does not run`);
};
