import type { Log, LogFields } from '../log.ts';

export interface LogLine {
  level: keyof Log;
  message: string;
  fields: LogFields | undefined;
}

/** A log that keeps its lines, in their order. */
export const createRecordingLog = () => {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Log) =>
    (message: string, fields?: LogFields): void => {
      lines.push({ level, message, fields });
    };
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { log, lines };
};
