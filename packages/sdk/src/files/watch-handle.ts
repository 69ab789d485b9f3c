import {
  type FilesystemEvent as EventMessage,
  EventType,
  type WatchDirResponse,
} from '@skerry/envd-client/filesystem';
import { toSandboxError } from '../errors.ts';
import type { Listening } from '../process/listening.ts';
import type { Agent } from '../transport/agent.ts';
import { type AttemptLimits, reconnect, withinSilence } from '../transport/reconnect.ts';
import { type EntryInfo, toEntryInfo } from './entry-info.ts';
import { type EventStream, explainLostStream } from './event-stream.ts';

/** What happened. A move inside a watched directory is `rename` of the old name and `create` of the new one. */
export type FileChange = 'create' | 'write' | 'remove' | 'rename' | 'chmod';

export interface FileEvent {
  /** Relative to the watched directory, which itself is `.`. */
  name: string;
  type: FileChange;
  /** Only with `includeEntry`, and only while the path exists. */
  entry?: EntryInfo;
}

const types: Partial<Record<EventType, FileChange>> = {
  [EventType.CREATE]: 'create',
  [EventType.WRITE]: 'write',
  [EventType.REMOVE]: 'remove',
  [EventType.RENAME]: 'rename',
  [EventType.CHMOD]: 'chmod',
};

/** A time in which the connection of a watch was broken. What happened then is not known. */
export interface LostEvents {
  /** When something last came over the connection that broke. The watch is in place again when you are told. */
  since: Date;
}

/** @internal */
export interface WatchHandleOptions {
  agent: Agent;
  /** The first connection. */
  opened: EventStream<WatchDirResponse>;
  /** Makes the same watch again. */
  open(limits: AttemptLimits): Promise<EventStream<WatchDirResponse>>;
  listening: Listening;
  /** When the watch ends by itself, in milliseconds since the epoch. */
  deadlineMs: number | undefined;
  /** Told of a gap. Without it a watch whose connection breaks fails. */
  onEventsLost: ((lost: LostEvents) => void) | undefined;
}

/**
 * A watch that is in place. Iterate over it once, or give `onEvent` to `watchDir`. Leaving the loop stops the watch. Events
 * wait in the sandbox while nobody reads; when too many do, the watch ends with `internal`.
 */
export class WatchHandle implements AsyncIterable<FileEvent>, Disposable {
  readonly #options: WatchHandleOptions;
  #isStopped = false;
  #lastMs = Date.now();

  /** @internal */
  constructor(options: WatchHandleOptions) {
    this.#options = options;
  }

  /** Ends the watch. A running iteration ends without an error. Idempotent. */
  stop(): void {
    this.#isStopped = true;
    this.#options.listening.controller.abort(toSandboxError('canceled', 'the watch was stopped'));
    this.#options.listening.release();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  /**
   * Throws `sandbox_unavailable` when the sandbox ends first. When the connection breaks it throws `connection_failed`, with
   * `onEventsLost` only if it cannot be made again within about ten seconds.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<FileEvent, void, undefined> {
    try {
      for (let current = this.#options.opened; ; ) {
        let broken: unknown;
        try {
          yield* this.#readOne(current);
          return;
        } catch (error) {
          broken = error;
        } finally {
          current.stream.abort();
        }
        current = await this.#reopen(broken);
      }
    } catch (error) {
      if (!this.#isStopped) throw error;
    } finally {
      this.stop();
    }
  }

  async *#readOne({ rest }: EventStream<WatchDirResponse>): AsyncGenerator<FileEvent, void, undefined> {
    const iterator = rest[Symbol.asyncIterator]();
    for (;;) {
      const next = await withinSilence(iterator.next());
      if (next.done) return;
      this.#lastMs = Date.now();
      const { event } = next.value;
      const change = event.case === 'filesystem' ? toFileEvent(event.value) : undefined;
      if (change) yield change;
    }
  }

  async #reopen(error: unknown): Promise<EventStream<WatchDirResponse>> {
    const { agent, open, listening, deadlineMs, onEventsLost } = this.#options;
    const { signal } = listening.controller;
    const reason = await explainLostStream(agent, signal, error);
    // What happens until the next watch is in place is never told, so nobody who does not ask gets one with a gap.
    if (reason.code !== 'connection_failed' || onEventsLost === undefined) throw reason;
    const since = new Date(this.#lastMs);
    const again = await reconnect({ agent, signal, reason, deadlineMs, open });
    this.#lastMs = Date.now();
    onEventsLost({ since });
    return again;
  }
}

// Types that later versions add have no name here and are left out.
function toFileEvent({ name, type, entry }: EventMessage): FileEvent | undefined {
  const change = types[type];
  return change && { name, type: change, ...(entry ? { entry: toEntryInfo(entry) } : {}) };
}
