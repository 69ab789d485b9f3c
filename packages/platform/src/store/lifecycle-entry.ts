import type { NewLogEntry } from './log-store.ts';
import type { EndCause, SandboxRow, StateChange } from './store.ts';

/** The logger of what the platform says; nobody else may speak under that name. */
export const PLATFORM_LOGGER = 'platform';

type Told = Pick<NewLogEntry, 'level' | 'message'>;

const ENDS: Record<EndCause, Told> = {
  killed: { level: 'info', message: 'sandbox killed' },
  expired: { level: 'info', message: 'sandbox killed at the end of its time to live' },
  exited: { level: 'warn', message: 'sandbox ended by itself' },
  failed: { level: 'error', message: 'sandbox did not start' },
  lost: { level: 'error', message: 'sandbox was lost: its host no longer had it' },
};

const toTold = ({ from, to }: StateChange, row: SandboxRow): Told | undefined => {
  const was = (state: SandboxRow['state']): boolean => from.includes(state);
  switch (to) {
    case 'running':
      if (was('starting')) return { level: 'info', message: 'sandbox started' };
      if (was('resuming')) return { level: 'info', message: 'sandbox resumed' };
      if (was('pausing')) return { level: 'warn', message: 'sandbox could not be paused and runs on' };
      return undefined;
    case 'paused':
      if (was('resuming')) return { level: 'warn', message: 'sandbox could not be resumed and stays paused' };
      return { level: 'info', message: 'sandbox paused' };
    case 'killing':
      return row.cause === null ? undefined : ENDS[row.cause];
    default:
      return undefined;
  }
};

/** What the log of a sandbox says of a change of its state; undefined for one that only leads to another. */
export const toLifecycleEntry = (
  change: StateChange,
  row: SandboxRow,
): Omit<NewLogEntry, 'at' | 'sizeBytes'> | undefined => {
  const told = toTold(change, row);
  if (told === undefined) return undefined;
  return {
    ...told,
    sandboxId: row.id,
    logger: PLATFORM_LOGGER,
    fields: {
      ...(row.cause === null ? {} : { cause: row.cause }),
      ...(row.pausedWith === null ? {} : { kept: row.pausedWith }),
    },
  };
};
