import { EventEmitter, on } from 'node:events';
import { createClient, type Transport } from '@connectrpc/connect';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { parseRun, type Run } from './messages.ts';

/** What listens for the end of which run. A listener is called once, whatever number of times the end is reported. */
export interface Watches {
  /** How many runs are listened for. */
  readonly size: number;
  add(run: Run, listener: () => void): void;
  remove(run: Run, listener: () => void): void;
  tell(run: Run): void;
  /** Calls the listener with each run that is listened for, now or from now on. The returned function takes it back. */
  follow(listener: (run: Run) => void): () => void;
}

export function createWatches(): Watches {
  const watched = new Map<string, { run: Run; listeners: Set<() => void> }>();
  const added = new EventEmitter<{ run: [Run] }>();
  // An id has no space.
  const toKey = ({ instance, runId }: Run): string => `${instance} ${runId}`;
  return {
    get size() {
      return watched.size;
    },
    add: (run, listener) => {
      const known = watched.get(toKey(run));
      if (known) {
        known.listeners.add(listener);
        return;
      }
      watched.set(toKey(run), { run, listeners: new Set([listener]) });
      added.emit('run', run);
    },
    remove: (run, listener) => {
      const known = watched.get(toKey(run));
      known?.listeners.delete(listener);
      if (known?.listeners.size === 0) watched.delete(toKey(run));
    },
    tell: (run) => {
      const known = watched.get(toKey(run));
      watched.delete(toKey(run));
      for (const listener of known?.listeners ?? []) listener();
    },
    follow: (listener) => {
      for (const { run } of watched.values()) listener(run);
      added.on('run', listener);
      return () => void added.off('run', listener);
    },
  };
}

/** Asks one connection for the end of every run that is listened for. Resolves when it tells of none any more: the next one is to be asked. */
export async function watchOver(transport: Transport, watches: Watches): Promise<void> {
  const asked = new EventEmitter<{ run: [Run] }>();
  const runs = on(asked, 'run') as AsyncIterableIterator<[Run]>;
  const leave = watches.follow((run) => asked.emit('run', run));
  async function* toRequests() {
    for await (const [run] of runs) yield { run };
  }
  try {
    for await (const response of createClient(RuntimeService, transport).watch(toRequests()))
      watches.tell(parseRun(response));
  } catch {
    // As a rule because the connection has ended.
  } finally {
    leave();
    await runs.return?.();
  }
}
