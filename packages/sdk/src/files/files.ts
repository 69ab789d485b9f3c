import { SandboxError } from '../errors.ts';
import { startListening } from '../process/listening.ts';
import { type Agent, type AgentCallOptions, toUserHeader } from '../transport/agent.ts';
import { keepaliveHeader, openStream } from '../transport/event-stream.ts';
import { type EntryInfo, toEntryInfo } from './entry-info.ts';
import {
  composeFile,
  type FileData,
  type ReadOptions,
  readFile,
  type WriteInfo,
  type WriteOptions,
  writeFile,
} from './file-transfer.ts';
import { type FileEvent, type LostEvents, WatchHandle } from './watch-handle.ts';

/** `Uint8Array<ArrayBuffer>`, written so that TypeScript before 5.7 reads it, too: there the type takes no argument. */
type OwnBytes = ReturnType<typeof Uint8Array.of>;

export interface ListOptions extends AgentCallOptions {
  /** Levels to descend. Default 1: the directory's own entries. */
  depth?: number | undefined;
}

export interface WatchOptions extends AgentCallOptions {
  /** Also watch all directories below. */
  recursive?: boolean | undefined;
  /** Attach the entry's info to each event. */
  includeEntry?: boolean | undefined;
  /** Accept network mounts, where changes by other machines are not reported. */
  allowNetworkMounts?: boolean | undefined;
  /** How long to watch, in milliseconds. Default: until stopped. */
  timeoutMs?: number | undefined;
  /**
   * Called with each event; the next event waits for the promise it returns. Use it instead of iterating over the
   * handle.
   */
  onEvent?: ((event: FileEvent) => void | Promise<void>) | undefined;
  /** Called once when a watch with `onEvent` has ended, with the error unless it was stopped. */
  onExit?: ((error?: unknown) => void) | undefined;
  /**
   * If set, the watch reconnects after a broken connection. Called when the watch is active again, before its first
   * event: list the directory then, because events in between are lost. Without it the watch fails with
   * `connection_failed`.
   */
  onEventsLost?: ((lost: LostEvents) => void) | undefined;
}

/** One of several files to write. */
export interface WriteEntry {
  path: string;
  data: FileData;
}

/** Reads, writes and watches the files of one sandbox. Relative paths start at the user's home. */
export class Files {
  readonly #agent: Agent;

  /** @internal */
  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /**
   * Reads a whole file: as text, or as `format`. A stream is delivered as it arrives; read it to the end or cancel it.
   * Rejects with `NotFoundError`, `InvalidArgumentError` for a directory, and `too_large` for a file of more than `maxBytes`.
   */
  read(path: string, options?: ReadOptions & { format?: 'text' }): Promise<string>;
  read(path: string, options: ReadOptions & { format: 'bytes' }): Promise<OwnBytes>;
  read(path: string, options: ReadOptions & { format: 'blob' }): Promise<Blob>;
  read(path: string, options: ReadOptions & { format: 'stream' }): Promise<ReadableStream<Uint8Array>>;
  async read(
    path: string,
    { format = 'text', ...options }: ReadOptions & { format?: 'text' | 'bytes' | 'blob' | 'stream' } = {},
  ): Promise<string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>> {
    switch (format) {
      case 'text':
        return readFile(this.#agent, path, options, (response) => response.text());
      case 'bytes':
        return new Uint8Array(
          await readFile(this.#agent, path, options, (response) => response.arrayBuffer()),
        );
      case 'blob':
        return readFile(this.#agent, path, options, (response) => response.blob());
      case 'stream':
        return readFile(this.#agent, path, options);
    }
  }

  /**
   * Writes one file, or several in parallel. Creates missing parents and replaces existing files. A stream is sent as
   * it arrives. When one of several fails the others may have been written. Rejects with `insufficient_storage` when the
   * disk is full.
   */
  write(path: string, data: FileData, options?: WriteOptions): Promise<WriteInfo>;
  write(entries: WriteEntry[], options?: WriteOptions): Promise<WriteInfo[]>;
  write(
    target: string | WriteEntry[],
    dataOrOptions?: FileData | WriteOptions,
    options?: WriteOptions,
  ): Promise<WriteInfo | WriteInfo[]> {
    if (typeof target === 'string')
      return writeFile(this.#agent, target, dataOrOptions as FileData, options ?? {});
    return this.#writeAll(target, (dataOrOptions as WriteOptions | undefined) ?? {});
  }

  /**
   * Joins files in their order into one that replaces `destination` in one step, and then deletes them: use it to write
   * large files in parts, several at a time. The bytes do not leave the sandbox, whose disk holds both for a moment.
   * Rejects with `NotFoundError` for a missing source, `InvalidArgumentError` when a source is not a regular file or is the
   * destination, and `insufficient_storage` when the disk is full; then every file is unchanged.
   */
  compose(
    sources: readonly string[],
    destination: string,
    options: AgentCallOptions = {},
  ): Promise<WriteInfo> {
    return composeFile(this.#agent, sources, destination, options);
  }

  /** Lists a directory, depth first. Rejects with `NotFoundError`, and `InvalidArgumentError` when it is not a directory. */
  async list(path: string, { depth = 1, ...options }: ListOptions = {}): Promise<EntryInfo[]> {
    const { entries } = await this.#agent.rpc(options, ({ filesystem }, rpc) =>
      filesystem.listDir({ path, depth }, rpc),
    );
    return entries.map(toEntryInfo);
  }

  /** Returns information about one path, without following a final symbolic link. Rejects with `NotFoundError`. */
  async getInfo(path: string, options: AgentCallOptions = {}): Promise<EntryInfo> {
    const { entry } = await this.#agent.rpc(options, ({ filesystem }, rpc) => filesystem.stat({ path }, rpc));
    return toEntryInfo(requireEntry(entry));
  }

  /** Whether a path exists. */
  async exists(path: string, options: AgentCallOptions = {}): Promise<boolean> {
    try {
      await this.getInfo(path, options);
      return true;
    } catch (error) {
      if (error instanceof SandboxError && error.code === 'not_found') return false;
      throw error;
    }
  }

  /**
   * Creates a directory and its missing parents. Returns false when it exists. Rejects with `InvalidArgumentError` if a file
   * has that path.
   */
  async makeDir(path: string, options: AgentCallOptions = {}): Promise<boolean> {
    try {
      await this.#agent.rpc(options, ({ filesystem }, rpc) => filesystem.makeDir({ path }, rpc));
      return true;
    } catch (error) {
      if (error instanceof SandboxError && error.code === 'conflict') return false;
      throw error;
    }
  }

  /**
   * Renames a file or directory, creates missing parents of the destination and replaces an existing file.
   * Rejects with `NotFoundError`, and `internal` for a directory that is not empty or is on another device.
   */
  async move(source: string, destination: string, options: AgentCallOptions = {}): Promise<EntryInfo> {
    const { entry } = await this.#agent.rpc(options, ({ filesystem }, rpc) =>
      filesystem.move({ source, destination }, rpc),
    );
    return toEntryInfo(requireEntry(entry));
  }

  /** Deletes a path and everything below it. A missing path is not an error. */
  async remove(path: string, options: AgentCallOptions = {}): Promise<void> {
    await this.#agent.rpc(options, ({ filesystem }, rpc) => filesystem.remove({ path }, rpc));
  }

  /**
   * Watches a directory and resolves when the watch is active: later changes are reported. Aborting `signal`
   * ends it with `canceled`. Rejects with `NotFoundError`, and `InvalidArgumentError` when it is not a directory.
   */
  async watchDir(path: string, options: WatchOptions = {}): Promise<WatchHandle> {
    const { recursive = false, includeEntry = false, allowNetworkMounts = false, timeoutMs = 0 } = options;
    const headers = { ...keepaliveHeader, ...toUserHeader(options.user) };
    const request = { path, recursive, includeEntry, allowNetworkMounts };
    const listening = startListening(options.signal);
    const open = ({
      timeoutMs: lastsMs,
      requestTimeoutMs,
    }: Pick<WatchOptions, 'timeoutMs' | 'requestTimeoutMs'>) =>
      openStream(this.#agent, { signal: listening.controller.signal, requestTimeoutMs }, (signal) =>
        this.#agent.client.filesystem.watchDir(request, { signal, headers, timeoutMs: lastsMs ?? 0 }),
      );
    const deadlineMs = timeoutMs > 0 ? Date.now() + timeoutMs : undefined;
    const opened = await open(options).catch((error: unknown) => {
      listening.release();
      throw error;
    });
    const { onEventsLost } = options;
    const handle = new WatchHandle({ agent: this.#agent, opened, open, listening, deadlineMs, onEventsLost });
    if (options.onEvent) {
      deliver(handle, options.onEvent).then(
        () => options.onExit?.(),
        (error: unknown) => options.onExit?.(error),
      );
    }
    return handle;
  }

  async #writeAll(entries: WriteEntry[], options: WriteOptions): Promise<WriteInfo[]> {
    const written: WriteInfo[] = [];
    const queue = entries.entries();
    const work = async (): Promise<void> => {
      for (const [index, { path, data }] of queue)
        written[index] = await writeFile(this.#agent, path, data, options);
    };
    await Promise.all(Array.from({ length: writesAtOnce }, work));
    return written;
  }
}

const writesAtOnce = 4;

async function deliver(handle: WatchHandle, onEvent: NonNullable<WatchOptions['onEvent']>): Promise<void> {
  for await (const event of handle) await onEvent(event);
}

function requireEntry<T>(entry: T | undefined): T {
  if (entry === undefined) throw new SandboxError('internal', 'the response of the agent has no entry');
  return entry;
}
