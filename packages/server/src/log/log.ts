import { toPrintableJson } from '@skerry/contract/printable';
import type { Log } from '@skerry/platform';

/** From the one that writes most. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogOptions {
  write: (line: string) => void;
  level?: LogLevel;
  /** Whether a person reads it, on a terminal: a line has the time, the message and the fields, and of an error no stack. */
  isForPerson?: boolean;
}

/**
 * Writes one JSON object a line, from `level` on; errors among the fields are written with their code, stack and
 * causes. A level that is not written costs nothing.
 */
export function createLog({ write, level: least = 'info', isForPerson = false }: LogOptions): Log {
  const toLine = isForPerson ? toText : toJson;
  const at = (level: LogLevel): Log[LogLevel] => {
    if (logLevels.indexOf(level) < logLevels.indexOf(least)) return () => undefined;
    return (message, fields = {}) => write(toLine({ level, message, fields, time: new Date() }));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

interface Entry {
  time: Date;
  level: LogLevel;
  message: string;
  fields: object;
}

const toJson = ({ time, level, message, fields }: Entry): string =>
  toPrintableJson({ timestamp: time.toISOString(), level, message, ...fields }, toPlain);

function toText({ time, level, message, fields }: Entry): string {
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  );
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${toValue(value)}`);
  return [clock.join(':'), level.padEnd(5), message, ...rest].join('  ');
}

const toValue = (value: unknown): string => {
  const text = typeof value === 'string' ? value : value instanceof Error ? toReason(value) : undefined;
  if (text === undefined) return JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
};

/** The message of an error with its causes. */
const toReason = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message}: ${toReason(cause)}` : message;

function toPlain(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, code: (value as { code?: unknown }).code, message, stack, cause };
}
