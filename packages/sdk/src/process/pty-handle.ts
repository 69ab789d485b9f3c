import type { ProcessEvent_EndEvent } from '@skerry/envd-client/process';
import { toSandboxError } from '../errors.ts';
import type { Agent } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';
import { explainLostStream } from '../transport/event-stream.ts';
import { type CommandResult, toResult } from './command-result.ts';
import type { ListenedProcess } from './listen-to-process.ts';
import type { LostOutput } from './output-lost-error.ts';
import {
  killAborted,
  killProcess,
  type StdinData,
  sendInput,
  streamInput,
  toSelector,
} from './process-input.ts';

/** In characters, each from 1 to 65 535. */
export interface PtySize {
  cols: number;
  rows: number;
}

export interface PtyListeners {
  /**
   * Called with the output of the terminal, as it arrives; a chunk may end inside a character. The next chunk, and the
   * program, wait for the promise it returns. Without it the output is dropped.
   */
  onData?: ((bytes: Uint8Array) => void | Promise<void>) | undefined;
  /** Called when output was lost after a broken connection, before the output after the gap. */
  onOutputLost?: ((lost: LostOutput) => void) | undefined;
}

/** How the program that was started on a terminal ended. */
export type PtyResult = Omit<CommandResult, 'stdout' | 'stderr'>;

/** @internal */
export interface PtyHandleOptions extends ListenedProcess, Pick<PtyListeners, 'onData'> {
  agent: Agent;
  /** If this signal ended the stream, the program is killed. */
  killSignal?: AbortSignal | undefined;
}

/** A terminal that was opened or attached to. */
export class PtyHandle {
  /** The pid of the program that was started on it. */
  readonly pid: number;
  readonly #options: PtyHandleOptions;
  readonly #result: Promise<PtyResult>;

  /** @internal */
  constructor(options: PtyHandleOptions) {
    this.pid = options.pid;
    this.#options = options;
    this.#result = this.#follow();
    this.#result.catch(() => {
      // `wait` reports the error; a handle without it must not end the program.
    });
  }

  /**
   * Resolves when the program on the terminal has ended, with any exit code: a shell ends with that of its last
   * command. Rejects with `timeout` when it exceeded its `timeoutMs`, `sandbox_unavailable` when the sandbox ended before it
   * and `canceled` after `disconnect`. After a broken connection the handle reconnects and continues at its offset. It
   * throws `connection_failed` when that does not succeed within about ten seconds: the terminal may then still exist.
   */
  wait(): Promise<PtyResult> {
    return this.#result;
  }

  /** Types into the terminal: `\r` is the enter key, `\x03` Ctrl-C, `\x04` the end of input. */
  sendInput(data: StdinData, options: CallOptions = {}): Promise<void> {
    return sendInput(this.#options.agent, { pid: this.pid, kind: 'pty' }, data, options);
  }

  /** Types all chunks in order over one request and resolves when the last is written. */
  streamInput(source: AsyncIterable<StdinData>, options: CallOptions = {}): Promise<void> {
    return streamInput(this.#options.agent, { pid: this.pid, kind: 'pty' }, source, options);
  }

  /** Changes its size; programs on it get SIGWINCH. Rejects with `InvalidArgumentError` for a size of 0. */
  resize(size: PtySize, options: CallOptions = {}): Promise<void> {
    return resizePty(this.#options.agent, this.pid, size, options);
  }

  /** Sends SIGKILL to the program. Returns false when it had ended already. */
  kill(options: CallOptions = {}): Promise<boolean> {
    return killProcess(this.#options.agent, this.pid, options);
  }

  /** Stops listening. The terminal and its program continue. */
  disconnect(): void {
    this.#options.listening.abort(toSandboxError('canceled', 'disconnected from the terminal'));
  }

  async #follow(): Promise<PtyResult> {
    const { agent, listening, release, killSignal } = this.#options;
    try {
      return toResult(await this.#readEvents());
    } catch (error) {
      if (killSignal?.aborted) await killAborted(agent, this.pid);
      throw await explainLostStream(agent, listening.signal, error);
    } finally {
      listening.abort();
      release();
    }
  }

  async #readEvents(): Promise<ProcessEvent_EndEvent> {
    const { process } = this.#options;
    for await (const { output } of process) {
      if (output.case === 'pty') await this.#tell(output.value);
    }
    if (process.end !== undefined) return process.end;
    throw new Error('the stream ended before the terminal');
  }

  async #tell(bytes: Uint8Array): Promise<void> {
    try {
      await this.#options.onData?.(bytes);
    } catch (cause) {
      throw toSandboxError('canceled', 'the listener of the terminal threw', { cause });
    }
  }
}

/**
 * Changes the size of a terminal.
 *
 * @internal
 */
export async function resizePty(
  agent: Agent,
  pid: number,
  { cols, rows }: PtySize,
  options: CallOptions,
): Promise<void> {
  await agent.rpc(options, ({ process }, rpc) =>
    process.update({ process: toSelector(pid), pty: { size: { cols, rows } } }, rpc),
  );
}
