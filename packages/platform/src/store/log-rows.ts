import type { LogLevel } from '@skerry/contract/agent-control';
import type { LogPage } from './read-log-page.ts';

export interface LogEntryRow {
  at: number;
  level: LogLevel;
  /** The writer; `platform` is reserved for the platform. */
  logger: string;
  message: string;
  fields: Record<string, string>;
}

export interface NewLogEntry extends LogEntryRow {
  sandboxId: string;
  /** The bytes that count against the limits; 0 for entries of the platform. */
  sizeBytes: number;
}

/** The position up to which the log of an agent was read. */
export interface LogSource {
  sandboxId: string;
  /** Identifies one numbering of the agent. */
  origin: string;
  /** The last number that was read. */
  seq: number;
}

export interface LogQuery extends LogPage {
  sandboxId: string;
  /** The lowest level. */
  level?: LogLevel | undefined;
  /** The only writer. */
  logger?: string | undefined;
  /** A part of the message or of a field, case-sensitive. */
  search?: string | undefined;
}
