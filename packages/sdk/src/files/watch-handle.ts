import {
  type FilesystemEvent as EventMessage,
  EventType,
  type WatchDirResponse,
} from '@skerry/envd-client/filesystem';
import { toSandboxError } from '../errors.ts';
import type { Listening } from '../process/listening.ts';
import type { Agent } from '../transport/agent.ts';
import { type EventStream, explainLostStream } from '../transport/event-stream.ts';
import { type AttemptLimits, reconnect, withinSilence } from '../transport/reconnect.ts';
import { type EntryInfo, toEntryInfo } from './entry-info.ts';

/** The kind of change. A move inside a watched directory is `rename` of the old name and `create` of the new one. */
export type FileChange = 'create' | 'write' | 'remove' | 'rename' | 'chmod';

export interface FileEvent {
  /** Relative to the watched directory, whose own name is `.`. */
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

/** A time in which the connection of a watch was broken. Events during it are lost. */
export interface LostEvents {
  /** The time of the last message over the connection that broke. The gap ends when you are called. */
  since: Date;
}

/** @internal */
export interface WatchHandleOptions {
  agent: Agent;
  /** The first connection. */
  opened: EventStream<WatchDirResponse>;
  /** Opens the same watch again. */
  open(limits: AttemptLimits): Promise<EventStream<WatchDirResponse>>;
  listening: Listening;
  /** When the watch ends by itself, in milliseconds since the epoch. */
  deadlineMs: number | undefined;
  /** Called after a gap. Without it a watch fails when its connection breaks. */
  onEventsLost: ((lost: LostEvents) => void) | undefined;
}

/**
 * An active watch. Iterate over it once, or pass `onEvent` to `watchDir`. Leaving the loop stops the watch. Events
 * wait in the sandbox until they are read; if too many wait, the watch ends with `internal`.
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
   * Throws `sandbox_unavailable` when the sandbox ends first. When the connection breaks it throws
   * `connection_failed`, with `onEventsLost` only if it cannot reconnect within about ten seconds.
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
    // Events before the next watch is active are lost, so only callers that handle gaps get a new connection.
    if (reason.code !== 'connection_failed' || onEventsLost === undefined) throw reason;
    const since = new Date(this.#lastMs);
    const again = await reconnect({ agent, signal, reason, deadlineMs, open });
    this.#lastMs = Date.now();
    onEventsLost({ since });
    return again;
  }
}

// Types that later versions add have no name here and are ignored.
function toFileEvent({ name, type, entry }: EventMessage): FileEvent | undefined {
  const change = types[type];
  return change && { name, type: change, ...(entry ? { entry: toEntryInfo(entry) } : {}) };
}
