import { closeSync, openSync } from 'node:fs';
import { appendFile, rename, stat } from 'node:fs/promises';
import { toPrintableJson } from '@skerry/contract/printable';
import { createQuietLog } from '@skerry/contract/quiet-log';
import type { Log } from '@skerry/platform';
import { UserError } from '../../user-error.ts';
import type { AccessEntry } from './access-log.ts';

/** What may wait in memory for a slow disk or reader. */
const MAX_WAITING_BYTES = 8 * 2 ** 20;
const MAX_FILE_BYTES = 100 * 2 ** 20;
/** The number of full files that are kept, as FILE.1 and so on, the newest first. */
const KEPT_FILES = 4;

export interface AccessSink {
  /** Never waits: an entry for which there is no room is dropped, and the next line that is written has the number of those. */
  write(entry: AccessEntry | { time: string; dropped: number }): void;
  /** Resolves when what waits has been written. */
  close(): Promise<void>;
}

/** Writes a text behind all before it. */
export type Append = (text: string) => Promise<void>;

/** Creates a sink that writes a JSON line for each entry. Text that cannot be written is dropped too, and logged. */
export const createAccessSink = (
  append: Append,
  log: Pick<Log, 'warn'>,
  { maxWaitingBytes = MAX_WAITING_BYTES }: { maxWaitingBytes?: number } = {},
): AccessSink => {
  const warn = createQuietLog({ warn: (message, fields) => log.warn(message, fields) });
  let waiting: string[] = [];
  let waitingBytes = 0;
  let dropped = 0;
  let writing: Promise<void> | undefined;

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingBytes = 0;
      const missing = dropped;
      const note =
        missing === 0 ? '' : `${JSON.stringify({ time: new Date().toISOString(), dropped: missing })}\n`;
      try {
        await append(note + lines.join(''));
        dropped -= missing;
      } catch (error) {
        dropped += lines.length;
        warn('lines of the access log are lost', { dropped, error });
      }
    }
    writing = undefined;
  };

  return {
    write(entry) {
      const line = `${toPrintableJson(entry)}\n`;
      if (waitingBytes + line.length > maxWaitingBytes) {
        dropped += 1;
        warn('the access log is written too slowly: lines are dropped', { dropped });
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      writing ??= writeAll();
    },
    close: async () => writing,
  };
};

/** Opens the sink for a file, or for stdout by the name `-`. Throws `UserError` for a file that cannot be written. */
export const openAccessSink = (path: string, log: Pick<Log, 'warn'>): AccessSink =>
  createAccessSink(path === '-' ? appendToStdout : appendToFile(path), log);

const appendToStdout: Append = (text) =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });

/**
 * Returns what appends to a file and renames it when it is full. The file is opened for each text, so it may be renamed or removed at
 * any time.
 */
export const appendToFile = (path: string, maxBytes = MAX_FILE_BYTES): Append => {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    throw new UserError(`--access-log: ${path} cannot be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const ignoreMissing = (error: unknown): undefined => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  };
  return async (text) => {
    const isFull = ((await stat(path).catch(ignoreMissing))?.size ?? 0) >= maxBytes;
    for (let number = KEPT_FILES - 1; isFull && number >= 0; number -= 1)
      await rename(number === 0 ? path : `${path}.${number}`, `${path}.${number + 1}`).catch(ignoreMissing);
    await appendFile(path, text, { mode: 0o600 });
  };
};
