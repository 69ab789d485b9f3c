import type { LogLevel } from '@skerry/contract/agent-control';

export interface LogStore {
  /** Writes entries of sandboxes whose rows exist and, in the same transaction, how far their agents' logs were read. */
  addLogEntries(entries: readonly NewLogEntry[], sources: readonly LogSource[]): Promise<void>;
  findLogSource(sandboxId: string): Promise<LogSource | undefined>;
  listLogEntries(query: LogQuery): Promise<LogEntryRow[]>;
  /** Forgets what is too old and, the oldest first, what agents said beyond so many bytes of one sandbox, and of all. */
  deleteLogEntries(limits: { before: number; maxBytesOfSandbox: number; maxBytes: number }): Promise<void>;
}

export interface LogEntryRow {
  at: number;
  level: LogLevel;
  /** Who said it; `platform` is nobody but the platform. */
  logger: string;
  message: string;
  fields: Record<string, string>;
}

export interface NewLogEntry extends LogEntryRow {
  sandboxId: string;
  /** What counts against the limits; 0 for what the platform says. */
  sizeBytes: number;
}

/** How far the log of an agent was read. */
export interface LogSource {
  sandboxId: string;
  /** Names one numbering of the agent. */
  origin: string;
  /** The last number that was read. */
  seq: number;
}

export interface LogQuery {
  sandboxId: string;
  /** Both included. */
  from?: number | undefined;
  to?: number | undefined;
  /** The lowest. */
  level?: LogLevel | undefined;
  /** A part of the message or of a field, in exactly this case. */
  search?: string | undefined;
  order: 'asc' | 'desc';
  limit: number;
}
