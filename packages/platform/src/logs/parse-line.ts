import { type LogEntry, type LogLevel, logLevels } from '@skerry/contract/agent-control';
import { PLATFORM_LOGGER } from '../store/lifecycle-entry.ts';
import type { LogEntryRow } from '../store/log-rows.ts';

/** One line of the log of an agent. The agent runs among hostile programs, so its content is not trusted. */
export type AgentLine =
  | { case: 'origin'; origin: string }
  | { case: 'ask' }
  | { case: 'entry'; seq: number; entry: LogEntryRow };

const MAX_LOGGER_LENGTH = 64;
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_FIELDS = 16;
const MAX_FIELD_NAME_LENGTH = 64;
const MAX_FIELD_LENGTH = 1_000;

const isText = (value: unknown): value is string => typeof value === 'string';

/** Removes half a character, which a cut may leave. */
const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed();

const parseFields = (value: unknown): Record<string, string> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const pairs = Object.entries(value)
    .filter((pair): pair is [string, string] => isText(pair[1]))
    .slice(0, MAX_FIELDS);
  return Object.fromEntries(
    pairs.map(([name, text]) => [cut(name, MAX_FIELD_NAME_LENGTH), cut(text, MAX_FIELD_LENGTH)]),
  );
};

/**
 * Undefined for a malformed line. Every field is cut to a bounded length, and no sender inside can write entries as the
 * platform. The time is that of the agent; the caller decides whether to trust it.
 */
export const parseLine = (text: string): AgentLine | undefined => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The agent writes only JSON, so another program inside has sent this line: it is ignored.
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { origin, ask, seq, timestamp, level, logger, message, fields } = value as Partial<
    Record<'origin' | 'ask' | keyof LogEntry, unknown>
  >;
  if (isText(origin))
    return origin.length > 0 && origin.length <= 64 ? { case: 'origin', origin } : undefined;
  if (ask === 'usage') return { case: 'ask' };
  if (!Number.isSafeInteger(seq) || (seq as number) < 1) return undefined;
  if (!Number.isSafeInteger(timestamp) || !isText(message) || !isText(logger)) return undefined;
  if (!logLevels.includes(level as LogLevel) || logger === '' || logger === PLATFORM_LOGGER) return undefined;
  return {
    case: 'entry',
    seq: seq as number,
    entry: {
      at: timestamp as number,
      level: level as LogLevel,
      logger: cut(logger, MAX_LOGGER_LENGTH),
      message: cut(message, MAX_MESSAGE_LENGTH),
      fields: parseFields(fields),
    },
  };
};
