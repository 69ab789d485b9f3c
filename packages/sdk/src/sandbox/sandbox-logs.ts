import type { components } from '@skerry/platform-client';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One entry of the log of a sandbox. */
export interface LogEntry {
  timestamp: Date;
  level: LogLevel;
  /**
   * `platform` is the service. Any other logger is inside the sandbox, and no more trustworthy than the code there: `stdout` and
   * `stderr` are lines that programs have printed.
   */
  logger: string;
  message: string;
  fields: Record<string, string>;
}

export interface LogsOptions extends CallOptions {
  /**
   * The first moment for `forward`, the last for `backward`; entries of its millisecond are included. Default: the end
   * of the log.
   */
  from?: Date | undefined;
  /**
   * At most 1000, the default. The result has more entries where its last millisecond would be incomplete, or be that of
   * `from`.
   */
  limit?: number | undefined;
  /** `backward`, the default, has the newest entry first, `forward` the oldest. */
  direction?: 'forward' | 'backward' | undefined;
  /** The lowest level. */
  level?: LogLevel | undefined;
  /** A part of the message or of a field, case-sensitive. */
  search?: string | undefined;
}

/**
 * Requests entries of the log of one sandbox.
 *
 * @internal
 */
export async function getSandboxLogs(
  connection: Connection,
  sandboxId: string,
  options: LogsOptions,
): Promise<LogEntry[]> {
  const { from, limit, direction, level, search } = options;
  const query = {
    ...(from === undefined ? {} : { cursor: from.getTime() }),
    ...(limit === undefined ? {} : { limit }),
    ...(direction === undefined ? {} : { direction }),
    ...(level === undefined ? {} : { level }),
    ...(search === undefined ? {} : { search }),
  };
  const { data } = await callApi(connection, options, (api, signal) =>
    api.GET('/v2/sandboxes/{sandboxID}/logs', {
      params: { path: { sandboxID: sandboxId }, query },
      signal,
    }),
  );
  return data.logs.map(toLogEntry);
}

/**
 * Converts an entry of the API.
 *
 * @internal
 */
export function toLogEntry({
  timestamp,
  level,
  message,
  fields,
}: components['schemas']['LogEntry']): LogEntry {
  const { logger = '', ...rest } = fields;
  return { timestamp: new Date(timestamp), level, logger, message, fields: rest };
}
