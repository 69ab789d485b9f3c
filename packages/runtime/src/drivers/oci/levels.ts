import type { IsolationLevel } from '@skerry/contract/isolation';

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
