import type { Clock } from '../clock.ts';
import type { LogSource, NewLogEntry } from '../store/log-store.ts';
import type { SandboxRow } from '../store/store.ts';
import type { EntryBuffer } from './entry-buffer.ts';
import { parseLine } from './parse-line.ts';

/** The log of one sandbox as it arrives, line by line, from any number of readings that may overlap. */
export interface CollectedLog {
  /** How far it is read. Undefined before the first line. */
  readonly source: LogSource | undefined;
  /** Takes a line as the agent sent it; what is none, or was read before, is left out. */
  take(text: string): void;
}

/** What an entry takes in the store besides its texts. */
const OVERHEAD_BYTES = 64;

export const createCollectedLog = (options: {
  row: Pick<SandboxRow, 'id' | 'createdAt'>;
  /** As it was left by an earlier run of this process. */
  source: LogSource | undefined;
  buffer: Pick<EntryBuffer, 'add'>;
  clock: Pick<Clock, 'now'>;
  /** The agent wants to know what the sandbox uses. */
  onAsk: () => void;
}): CollectedLog => {
  const { row, buffer, clock, onAsk } = options;
  let { source } = options;
  let lastAt = row.createdAt;

  const toNewEntry = (entry: Omit<NewLogEntry, 'sandboxId' | 'sizeBytes'>): NewLogEntry => {
    // Neither before what was told earlier nor in the future, so that nobody inside chooses its place among the others.
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
