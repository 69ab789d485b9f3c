import { type Clock, passTime } from '../clock.ts';
import type { Log } from '../log.ts';
import type { LogSource, NewLogEntry } from '../store/log-rows.ts';
import type { Store } from '../store/store.ts';

/** Entries that are not on disk yet. */
export interface EntryBuffer {
  /** Adds entries of one sandbox, and the position up to which its log is read with them. */
  add(entries: readonly NewLogEntry[], source: LogSource): void;
  /** Resolves when every added entry is on disk, or dropped. */
  flush(): Promise<void>;
}

/** Entries of all sandboxes are written together: one sync of the disk. */
const WRITE_MS = 200;
const RETRY_MS = 2_000;
const MAX_TRIES = 3;

export const createEntryBuffer = (options: {
  store: Pick<Store, 'addLogEntries'>;
  clock: Clock;
  log: Log;
}): EntryBuffer => {
  const { store, clock, log } = options;
  let entries: NewLogEntry[] = [];
  let sources = new Map<string, LogSource>();
  let cancel: (() => void) | undefined;
  let writing = Promise.resolve();

  const write = async (batch: NewLogEntry[], read: LogSource[]): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        await store.addLogEntries(batch, read);
        return;
      } catch (error) {
        if (tries === MAX_TRIES) {
          log.error('log entries could not be written and are lost', { entries: batch.length, error });
          return;
        }
        await passTime(clock, RETRY_MS);
      }
    }
  };

  const flush = (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    if (sources.size > 0) {
      const [batch, read] = [entries, [...sources.values()]];
      entries = [];
      sources = new Map();
      writing = writing.then(() => write(batch, read));
    }
    return writing;
  };

  return {
    add: (more, source) => {
      entries.push(...more);
      sources.set(source.sandboxId, source);
      cancel ??= clock.after(WRITE_MS, () => void flush());
    },
    flush,
  };
};
