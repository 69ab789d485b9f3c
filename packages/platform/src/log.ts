/** Plain data of one log line. It must not contain secrets: keys, tokens, or variables of a sandbox. */
export type LogFields = Record<string, unknown>;

/** Writes one structured line per call. `error` values are rendered by the implementation, with their causes. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}
