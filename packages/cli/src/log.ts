import type { Log } from '@skerry/platform';

/** One JSON object a line on stderr; errors among the fields are written with their code, stack and causes. */
export function createLog({ write }: { write: (line: string) => void }): Log {
  const at =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}): void =>
      write(
        `${JSON.stringify({ timestamp: new Date().toISOString(), level, message, ...fields }, toPlain)}\n`,
      );
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function toPlain(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, code: (value as { code?: unknown }).code, message, stack, cause };
}
