import type { Clock } from '../clock.ts';
import type { LogSource, NewLogEntry } from '../store/log-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { EntryBuffer } from './entry-buffer.ts';
import { parseLine } from './parse-line.ts';

/** The log of one sandbox as it arrives, line by line, from any number of readings that may overlap. */
export interface CollectedLog {
  /** The last position that was read. Undefined before the first line. */
  readonly source: LogSource | undefined;
  /** Adds a line that the agent sent; malformed lines and lines that were read before are ignored. */
  take(text: string): void;
}

/** The bytes of an entry in the store besides its texts. */
const OVERHEAD_BYTES = 64;

export const createCollectedLog = (options: {
  row: Pick<SandboxRow, 'id' | 'createdAt'>;
  /** The state that an earlier run of this process left. */
  source: LogSource | undefined;
  buffer: Pick<EntryBuffer, 'add'>;
  clock: Pick<Clock, 'now'>;
  /** Called when the agent asks for the usage of the sandbox. */
  onAsk: () => void;
}): CollectedLog => {
  const { row, buffer, clock, onAsk } = options;
  let { source } = options;
  let lastAt = row.createdAt;

  const toNewEntry = (entry: Omit<NewLogEntry, 'sandboxId' | 'sizeBytes'>): NewLogEntry => {
    // Keep the time after that of the previous entry and not in the future, so that code inside cannot choose
    // its position among the others.
    lastAt = Math.max(lastAt, Math.min(entry.at, clock.now()));
    const sizeBytes =
      OVERHEAD_BYTES +
      [entry.logger, entry.message, JSON.stringify(entry.fields)].reduce(
        (sum, text) => sum + Buffer.byteLength(text),
        0,
      );
    return { ...entry, at: lastAt, sandboxId: row.id, sizeBytes };
  };

  return {
    get source() {
      return source;
    },
    take: (text) => {
      const line = parseLine(text);
      if (line?.case === 'ask') onAsk();
      if (line?.case === 'origin' && line.origin !== source?.origin) {
        source = { sandboxId: row.id, origin: line.origin, seq: 0 };
      }
      if (line?.case !== 'entry' || source === undefined || line.seq <= source.seq) return;
      const lost = line.seq - source.seq - 1;
      const entries = [toNewEntry(line.entry)];
      if (lost > 0) {
        const message = `${lost} log entries of the sandbox were lost`;
        entries.unshift(toNewEntry({ at: line.entry.at, level: 'warn', logger: 'log', message, fields: {} }));
      }
      source = { ...source, seq: line.seq };
      buffer.add(entries, source);
    },
  };
};
