import type { Clock } from '../clock.ts';
import type { BuildLogLevel, BuildLogRow } from '../store/build-rows.ts';
import type { Store } from '../store/store.ts';

/** The log of one build. Entries are written together: each write is a sync of the disk. */
export interface BuildLog {
  add(entry: { level: BuildLogLevel; message: string; step?: string }): void;
  /** Resolves when everything that was added is stored. Never rejects. */
  flush(): Promise<void>;
}

const FLUSH_MS = 100;
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_ENTRIES = 20_000;

/** `onError` gets what prevents a write; those entries are lost, and the build goes on. */
export const createBuildLog = (
  id: string,
  {
    store,
    clock,
    onError,
  }: { store: Pick<Store, 'addBuildLog'>; clock: Clock; onError: (error: unknown) => void },
): BuildLog => {
  let pending: BuildLogRow[] = [];
  let count = 0;
  let cancel: (() => void) | undefined;
  let writing = Promise.resolve();

  const write = (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    const entries = pending;
    pending = [];
    if (entries.length > 0) writing = writing.then(() => store.addBuildLog(id, entries)).catch(onError);
    return writing;
  };

  const push = (level: BuildLogLevel, message: string, step: string | undefined): void => {
    const cut =
      message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)} [cut]` : message;
    pending.push({ at: clock.now(), level, message: cut.toWellFormed(), step: step ?? null });
    cancel ??= clock.after(FLUSH_MS, () => void write());
  };

  return {
    add: ({ level, message, step }) => {
      count += 1;
      if (count === MAX_ENTRIES) push('warn', `this log is full after ${MAX_ENTRIES} entries`, step);
      // Errors say why the build failed, and there are few.
      if (count < MAX_ENTRIES || level === 'error') push(level, message, step);
    },
    flush: write,
  };
};
