import type { components } from '@skerry/platform-client';
import type { LogEntryRow } from '../store/log-rows.ts';
import { requireObserved } from './observed-sandbox.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';

type LogRoute = 'GET /sandboxes/{sandboxID}/logs' | 'GET /v2/sandboxes/{sandboxID}/logs';

const MAX_ENTRIES = 1000;

/** An entry as callers see it. */
export const toLogEntry = ({
  at,
  level,
  logger,
  message,
  fields,
}: LogEntryRow): components['schemas']['LogEntry'] => ({
  timestamp: new Date(at).toISOString(),
  level,
  message,
  fields: { ...fields, logger },
});

/** Clients of the first version parse each line. */
const toLine = ({ at, level, logger, message, fields }: LogEntryRow) => ({
  timestamp: new Date(at).toISOString(),
  line: JSON.stringify({ ...fields, level, logger, message }),
});

/** The handlers that return the log of a sandbox. */
export const createLogHandlers = ({
  store,
  clock,
  observation,
}: Pick<HandlerContext, 'store' | 'clock' | 'observation'>): Pick<PlatformHandlers, LogRoute> => ({
  'GET /sandboxes/{sandboxID}/logs': async ({ params, query }) => {
    const { id } = await requireObserved({ store, clock }, parseSandboxId(params));
    const { start, limit = MAX_ENTRIES } = query;
    const rows = await observation.logCollection.list({ sandboxId: id, cursor: start, order: 'asc', limit });
    return { status: 200, body: { logs: rows.map(toLine), logEntries: rows.map(toLogEntry) } };
  },

  'GET /v2/sandboxes/{sandboxID}/logs': async ({ params, query }) => {
    const { id } = await requireObserved({ store, clock }, parseSandboxId(params));
    const { cursor, direction = 'backward', limit = MAX_ENTRIES, level, search } = query;
    const order = direction === 'forward' ? 'asc' : 'desc';
    const rows = await observation.logCollection.list({
      ...{ sandboxId: id, order, cursor },
      ...{ level, search, limit },
    });
    return { status: 200, body: { logs: rows.map(toLogEntry) } };
  },
});
