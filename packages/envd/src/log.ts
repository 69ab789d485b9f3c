import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

/** Writes one line of JSON per call. Never throws: a full disk must not take the agent down. */
export type Log = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

const toText = (value: unknown): unknown =>
  value instanceof Error ? `${value.stack ?? value.message}`.slice(0, 4000) : value;

/**
 * Logs to `path` and keeps at most `maxBytes` in total there and in `path.1`, so that a sandbox cannot fill the folder it
 * shares with the host by provoking errors.
 */
export const createLog = ({ path, maxBytes }: { path: string; maxBytes: number }): Log => {
  let fd = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
  let sizeBytes = fstatSync(fd).size;
  const rotate = (): void => {
    renameSync(path, `${path}.1`);
    // Opened before the old one is closed: on a full disk the open fails, and the number of a closed descriptor may be reused.
    const next = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    closeSync(fd);
    fd = next;
    sizeBytes = 0;
  };
  return (message, fields = {}) => {
    const entry: Record<string, unknown> = { time: new Date().toISOString(), message };
    for (const [key, value] of Object.entries(fields)) entry[key] = toText(value);
    try {
      const line = `${JSON.stringify(entry)}\n`;
      if (sizeBytes + line.length > maxBytes / 2) rotate();
      sizeBytes += writeSync(fd, line);
    } catch {
      // There is no other place to report it: stdio of the agent is /dev/null.
    }
  };
};
