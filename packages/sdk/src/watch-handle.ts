import {
  type FilesystemEvent as EventMessage,
  EventType,
  type WatchDirResponse,
} from '@skerry/envd-client/filesystem';
import type { Agent } from './agent.ts';
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

/**
 * A watch that is in place. Iterate over it once, or give `onEvent` to `watchDir`. Leaving the loop stops the watch. Events
 * wait in the sandbox while nobody reads; when too many do, the watch ends with `internal`.
 */
export class WatchHandle implements AsyncIterable<FileEvent>, Disposable {
  readonly #agent: Agent;
  readonly #events: EventStream<WatchDirResponse>;
  #isStopped = false;

  /** @internal */
  constructor(agent: Agent, events: EventStream<WatchDirResponse>) {
    this.#agent = agent;
    this.#events = events;
  }

  /** Ends the watch. A running iteration ends without an error. Idempotent. */
  stop(): void {
    this.#isStopped = true;
    this.#events.stream.abort();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  /** Throws `sandbox_unavailable` when the sandbox ends first and `connection_failed` when the stream breaks. */
  async *[Symbol.asyncIterator](): AsyncGenerator<FileEvent, void, undefined> {
    try {
      for await (const { event } of this.#events.rest) {
        const change = event.case === 'filesystem' ? toFileEvent(event.value) : undefined;
        if (change) yield change;
      }
    } catch (error) {
      if (this.#isStopped) return;
      throw await explainLostStream(this.#agent, this.#events.stream.signal, error);
    } finally {
      this.stop();
    }
  }
}

// Types that later versions add have no name here and are left out.
function toFileEvent({ name, type, entry }: EventMessage): FileEvent | undefined {
  const change = types[type];
  return change && { name, type: change, ...(entry ? { entry: toEntryInfo(entry) } : {}) };
}
