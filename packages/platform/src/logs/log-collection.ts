import { createTurns } from '@skerry/contract/turns';
import type { Instance } from '@skerry/runtime';
import { type Clock, passTime } from '../clock.ts';
import type { Log } from '../log.ts';
import type { LogEntryRow, LogQuery } from '../store/log-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { type ByteBudget, createByteBudget } from './byte-budget.ts';
import { type CollectedLog, createCollectedLog } from './collected-log.ts';
import { createEntryBuffer } from './entry-buffer.ts';
import { readLog } from './read-log.ts';

/** Copies the logs of the agents of running sandboxes into the store. */
export interface LogCollection {
  /** Starts following the log of a running sandbox. */
  begin(row: SandboxRow, instance: Pick<Instance, 'control'>): void;
  /** Stops following, and fetches the remaining entries before the run ends. */
  end(id: string): void;
  /** Resolves when the remaining entries are fetched, or soon when that is impossible. Never rejects. */
  fetched(id: string): Promise<void>;
  /** Writes everything that was fetched, so that reads return it. */
  list(query: LogQuery): Promise<LogEntryRow[]>;
  /** Removes entries that are too old or exceed the size limits. */
  prune(): Promise<void>;
  /** Stops following, and writes the entries that are not written yet. */
  close(): Promise<void>;
}

export interface LogCollectionOptions {
  store: Pick<Store, 'addLogEntries' | 'findLogSource' | 'listLogEntries' | 'deleteLogEntries'>;
  clock: Clock;
  log: Log;
  /** Sends the usage of a sandbox to its agent, on request. */
  answerUsage(row: SandboxRow, instance: Pick<Instance, 'control'>): Promise<void>;
}

const KEEP_LOGS_MS = 7 * 86_400_000;
const MAX_BYTES_OF_SANDBOX = 4 * 2 ** 20;
const MAX_BYTES = 2 ** 30;

/** The rate limit of a sandbox that floods its log: this much at once, and then so much a second. */
const BYTES_AT_ONCE = 256 * 1024;
const BYTES_A_SECOND = 32 * 1024;

/**
 * Following begins a while after the start: the caller has its response by then, and the agent has not yet freed the
 * memory of its own start. So an idle sandbox does not keep the memory that accepting the connection took.
 */
const BEGIN_MS = 500;
const SPREAD_MS = 1_000;
/** A kill or a pause waits at most so long for the remaining entries. */
const FETCH_MS = 300;
const ANSWERS_APART_MS = 200;
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A server that takes over the sandboxes of another one begins to follow thousands of logs at once, each with a TLS handshake. */
const OPENED_AT_A_TIME = 16;

interface Followed {
  readonly row: SandboxRow;
  readonly instance: Pick<Instance, 'control'>;
  readonly budget: ByteBudget;
  collected: Promise<CollectedLog> | undefined;
  readonly stop: AbortController;
}

/**
 * One connection to each running sandbox, over which its agent sends new entries. There is no polling, and an idle
 * sandbox costs only the memory of the connection. The position of a log is written together with its entries, so
 * after a restart of this process every entry that the agent still has is in the store exactly once.
 */
export const createLogCollection = ({
  store,
  clock,
  log,
  answerUsage,
}: LogCollectionOptions): LogCollection => {
  const followed = new Map<string, Followed>();
  const fetching = new Map<string, Promise<void>>();
  const turns = createTurns(OPENED_AT_A_TIME);
  const buffer = createEntryBuffer({ store, clock, log });

  /**
   * Answers a question, and delays the next one a moment: an agent that asks all the time is not answered all the
   * time.
   */
  const createAnswering = (row: SandboxRow, instance: Pick<Instance, 'control'>) => {
    let isAsked = false;
    let isAnswering = false;
    const answer = async (): Promise<void> => {
      isAnswering = true;
      while (isAsked) {
        isAsked = false;
        await answerUsage(row, instance).catch((error: unknown) =>
          log.debug('an agent did not accept a response', { sandboxId: row.id, error }),
        );
        await passTime(clock, ANSWERS_APART_MS);
      }
      isAnswering = false;
    };
    return (): void => {
      isAsked = true;
      if (!isAnswering) void answer();
    };
  };

  const openCollected = async (
    row: SandboxRow,
    instance: Pick<Instance, 'control'>,
  ): Promise<CollectedLog> => {
    // Entries of an earlier run of the sandbox may not be written yet.
    await buffer.flush();
    return createCollectedLog({
      row,
      source: await store.findLogSource(row.id),
      buffer,
      clock,
      onAsk: createAnswering(row, instance),
    });
  };

  const read = async (one: Followed, { follow, signal }: { follow: boolean; signal: AbortSignal }) => {
    const { row, instance, budget } = one;
    one.collected ??= openCollected(row, instance).catch((error: unknown) => {
      one.collected = undefined;
      throw error;
    });
    const collected = await one.collected;
    const onLine = (text: string): void => collected.take(text);
    const open = () => instance.control({ signal });
    // What an ending sandbox has left is fetched at once.
    const control = () => (follow ? turns.take(open, signal) : open());
    await readLog({
      instance: { control },
      ...{ after: collected.source, follow, onLine, budget, clock, signal },
    });
  };

  const follow = async (one: Followed): Promise<void> => {
    const { signal } = one.stop;
    await passTime(clock, BEGIN_MS + Math.random() * SPREAD_MS, signal);
    for (let pauseMs = MIN_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const begunAt = clock.now();
      try {
        await read(one, { follow: true, signal });
      } catch (error) {
        if (!signal.aborted)
          log.debug('the connection to the log of a sandbox ended', { sandboxId: one.row.id, error });
      }
      if (clock.now() - begunAt > MAX_PAUSE_MS) pauseMs = MIN_PAUSE_MS;
      await passTime(clock, pauseMs, signal);
    }
  };

  const fetchRest = async (one: Followed): Promise<void> => {
    const late = new AbortController();
    const cancel = clock.after(FETCH_MS, () => late.abort());
    try {
      await read(one, { follow: false, signal: late.signal });
    } catch (error) {
      log.debug('the rest of a log could not be fetched', { sandboxId: one.row.id, error });
    } finally {
      cancel();
    }
  };

  return {
    begin: (row, instance) => {
      const one: Followed = {
        row,
        instance,
        budget: createByteBudget({ clock, atOnce: BYTES_AT_ONCE, aSecond: BYTES_A_SECOND }),
        collected: undefined,
        stop: new AbortController(),
      };
      followed.get(row.id)?.stop.abort();
      followed.set(row.id, one);
      follow(one).catch((error) =>
        log.error('the log of a sandbox cannot be followed', { sandboxId: row.id, error }),
      );
    },
    end: (id) => {
      const one = followed.get(id);
      if (one === undefined) return;
      followed.delete(id);
      one.stop.abort();
      const fetched = fetchRest(one).finally(() => {
        if (fetching.get(id) === fetched) fetching.delete(id);
      });
      fetching.set(id, fetched);
    },
    fetched: async (id) => fetching.get(id),
    list: async (query) => {
      await buffer.flush();
      return store.listLogEntries(query);
    },
    prune: () =>
      store.deleteLogEntries({
        before: clock.now() - KEEP_LOGS_MS,
        maxBytesOfSandbox: MAX_BYTES_OF_SANDBOX,
        maxBytes: MAX_BYTES,
      }),
    close: async () => {
      for (const { stop } of followed.values()) stop.abort();
      followed.clear();
      await Promise.all(fetching.values());
      await buffer.flush();
    },
  };
};
