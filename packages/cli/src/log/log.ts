import type { Log } from '@skerry/platform';
import { toPrintableJson } from '../output/printable.ts';

/** From the one that writes most. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Writes one JSON object a line, from `level` on; errors among the fields are written with their code, stack and
 * causes. A level that is not written costs nothing.
 */
export function createLog({
  write,
  level: least = 'info',
}: {
  write: (line: string) => void;
  level?: LogLevel;
}): Log {
  const at = (level: LogLevel): Log[LogLevel] => {
    if (logLevels.indexOf(level) < logLevels.indexOf(least)) return () => undefined;
    return (message, fields = {}) =>
      write(toPrintableJson({ timestamp: new Date().toISOString(), level, message, ...fields }, toPlain));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function toPlain(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, code: (value as { code?: unknown }).code, message, stack, cause };
}
