/** At most one line of each message in this time. */
const QUIET_MS = 60_000;

/** Logs a message with its fields, or only counts it. */
export type QuietLog = (message: string, fields: Record<string, unknown>) => void;

/**
 * Returns a log for what others can cause as often as they like. A message is at most one line a minute, whose field `omitted` is the
 * number of lines that the minute before had too many. `now` returns milliseconds that never decrease.
 */
export const createQuietLog = ({
  warn,
  now = () => performance.now(),
}: {
  warn: QuietLog;
  now?: () => number;
}): QuietLog => {
  const last = new Map<string, { atMs: number; omitted: number }>();
  return (message, fields) => {
    const before = last.get(message);
    if (before !== undefined && now() - before.atMs < QUIET_MS) {
      before.omitted += 1;
      return;
    }
    last.set(message, { atMs: now(), omitted: 0 });
    warn(message, { ...fields, ...(before?.omitted && { omitted: before.omitted }) });
  };
};
