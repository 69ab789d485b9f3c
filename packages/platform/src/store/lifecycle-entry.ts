import type { NewLogEntry } from './log-rows.ts';
import type { EndCause, NodePlace, SandboxRow, StateChange } from './rows.ts';

/** The logger name of the platform's own entries; no other writer may use it. */
export const PLATFORM_LOGGER = 'platform';

/** The message of an entry whose fields name the node and the reason. */
export const PLACED_MESSAGE = 'sandbox placed on a node';

type Entry = Pick<NewLogEntry, 'level' | 'message'>;

const ENDS: Record<EndCause, Entry> = {
  killed: { level: 'info', message: 'sandbox killed' },
  expired: { level: 'info', message: 'sandbox killed at the end of its time to live' },
  exited: { level: 'warn', message: 'sandbox ended by itself' },
  failed: { level: 'error', message: 'sandbox did not start' },
  lost: { level: 'error', message: 'sandbox was lost: its host no longer had it' },
};

const LOST_WITH_NODE: Entry = {
  level: 'error',
  message: 'sandbox was lost: its node no longer had it, or did not answer for too long',
};

const toEntry = ({ from, to }: StateChange, row: SandboxRow): Entry | undefined => {
  const was = (state: SandboxRow['state']): boolean => from.includes(state);
  switch (to) {
    case 'running':
      if (was('starting')) return { level: 'info', message: 'sandbox started' };
      if (was('resuming')) return { level: 'info', message: 'sandbox resumed' };
      if (was('pausing')) return { level: 'warn', message: 'sandbox could not be paused and still runs' };
      return undefined;
    case 'paused':
      if (was('resuming')) return { level: 'warn', message: 'sandbox could not be resumed and stays paused' };
      return was('paused') ? undefined : { level: 'info', message: 'sandbox paused' };
    case 'killing':
      if (row.cause === 'lost' && row.node !== null) return LOST_WITH_NODE;
      return row.cause === null ? undefined : ENDS[row.cause];
    default:
      return undefined;
  }
};

/** The log entry for a change of state; undefined for an intermediate state. */
export const toLifecycleEntry = (
  change: StateChange,
  row: SandboxRow,
): Omit<NewLogEntry, 'at' | 'sizeBytes'> | undefined => {
  const entry = toEntry(change, row);
  if (entry === undefined) return undefined;
  return {
    ...entry,
    sandboxId: row.id,
    logger: PLATFORM_LOGGER,
    fields: {
      ...(row.cause === null ? {} : { cause: row.cause }),
      ...(row.node === null ? {} : { node: row.node }),
      ...(row.pausedWith === null ? {} : { kept: row.pausedWith }),
    },
  };
};

/** The log entry for the choice of a node. */
export const toPlacementEntry = (
  sandboxId: string,
  { node, reason }: NodePlace,
): Omit<NewLogEntry, 'at' | 'sizeBytes'> => ({
  sandboxId,
  level: 'info',
  logger: PLATFORM_LOGGER,
  message: PLACED_MESSAGE,
  fields: { node, ...(reason !== undefined && { reason }) },
});
