import { EventEmitter, on } from 'node:events';
import { createClient, type Transport } from '@connectrpc/connect';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { parseRun, type Run } from './messages.ts';

/** The listeners for the ends of runs. A listener is called once, also when the end is reported several times. */
export interface Watches {
  /** The number of runs that have a listener. */
  readonly size: number;
  add(run: Run, listener: () => void): void;
  remove(run: Run, listener: () => void): void;
  tell(run: Run): void;
  /** Calls the function with each run that has a listener, also with later ones. The returned function stops that. */
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

/** Watches, over one connection, every run that has a listener. Resolves when the connection reports no more: watch over the next one then. */
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
    // Usually the connection has ended.
  } finally {
    leave();
    await runs.return?.();
  }
}
