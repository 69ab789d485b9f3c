import type { ProcessEvent_EndEvent } from '@skerry/envd-client/process';
import { toSandboxError } from '../errors.ts';
import type { Agent } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';
import { explainLostStream } from '../transport/event-stream.ts';
import { type CommandOutput, CommandOutputLog } from './command-output.ts';
import { CommandExitError, type CommandResult, toResult } from './command-result.ts';
import type { LostOutput } from './output-lost-error.ts';
import { closeStdin, killAborted, killProcess, sendInput } from './process-input.ts';
import type { ProcessStream } from './process-stream.ts';

export interface OutputListeners {
  /** Called with each chunk of text. The next chunk, and the command, wait for the promise it returns. */
  onStdout?: ((text: string) => void | Promise<void>) | undefined;
  onStderr?: ((text: string) => void | Promise<void>) | undefined;
  /**
   * Called with each chunk of stdout as the command wrote it, for output that is not text or is large. The handle keeps none of it:
   * `stdout`, `onStdout` and iteration do not have it.
   */
  onStdoutBytes?: ((bytes: Uint8Array) => void | Promise<void>) | undefined;
  /** `onStdoutBytes` for stderr. */
  onStderrBytes?: ((bytes: Uint8Array) => void | Promise<void>) | undefined;
  /**
   * Called when output was lost after a broken connection, before the output after the gap. Without it the handle
   * fails with `OutputLostError`.
   */
  onOutputLost?: ((lost: LostOutput) => void) | undefined;
}

/** @internal */
export interface CommandHandleOptions extends OutputListeners {
  agent: Agent;
  pid: number;
  process: ProcessStream;
  /** Ends the stream. */
  listening: AbortController;
  /** Called once at the end. */
  release(): void;
  /** If this signal ended the stream, the command is killed. */
  killSignal?: AbortSignal | undefined;
}

/**
 * A command that was started or attached to. Iterating yields its output from the start of the stream to the end of the
 * command; `wait` returns its result. Output is kept until the handle is dropped.
 */
export class CommandHandle implements AsyncIterable<CommandOutput> {
  readonly pid: number;
  readonly #options: CommandHandleOptions;
  readonly #log = new CommandOutputLog();
  readonly #result: Promise<CommandResult>;

  /** @internal */
  constructor(options: CommandHandleOptions) {
    this.pid = options.pid;
    this.#options = options;
    this.#result = this.#follow();
    this.#result.catch(() => {
      // `wait` and iteration report the error; a handle without either must not end the program.
    });
  }

  /** The stdout of the command since the creation of this handle. */
  get stdout(): string {
    return this.#log.textOf('stdout');
  }

  /** The stderr of the command since the creation of this handle. */
  get stderr(): string {
    return this.#log.textOf('stderr');
  }

  /**
   * How many bytes of output, of stdout and stderr together, precede the next output of this handle. `commands.connect`
   * attaches there, also from another program. Undefined when the server does not report offsets.
   */
  get offset(): number | undefined {
    return this.#options.process.offset;
  }

  [Symbol.asyncIterator](): AsyncGenerator<CommandOutput, void, undefined> {
    return this.#log[Symbol.asyncIterator]();
  }

  /**
   * Resolves when the command has ended with exit code 0. Rejects with `CommandExitError` for any other, `timeout` when it
   * exceeded its `timeoutMs`, `sandbox_unavailable` when the sandbox ended before it and `canceled` after
   * `disconnect`. After a broken connection the handle reconnects and continues at its offset. It throws
   * `connection_failed` when that does not succeed within about ten seconds, and `OutputLostError` when the sandbox no
   * longer has all output. In both cases the command may still run.
   */
  wait(): Promise<CommandResult> {
    return this.#result;
  }

  /** Sends SIGKILL to the command, not to its children. Returns false when it had ended already. */
  kill(options: CallOptions = {}): Promise<boolean> {
    return killProcess(this.#options.agent, this.pid, options);
  }

  /** Writes to its stdin, which must have been opened with `stdin: true`. */
  sendStdin(data: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    return sendInput(this.#options.agent, { pid: this.pid, kind: 'stdin' }, data, options);
  }

  /** Closes its stdin. Closing twice is not an error. */
  closeStdin(options: CallOptions = {}): Promise<void> {
    return closeStdin(this.#options.agent, this.pid, options);
  }

  /**
   * Stops listening. The command continues. A command with much output may be blocked for up to ten seconds, in case
   * a client attaches.
   */
  disconnect(): void {
    this.#options.listening.abort(toSandboxError('canceled', 'disconnected from the command'));
  }

  async #follow(): Promise<CommandResult> {
    try {
      const end = await this.#readEvents();
      for (const piece of this.#log.end()) await this.#tell(piece);
      const { stdout, stderr } = this;
      const result = { ...toResult(end), stdout, stderr };
      if (result.exitCode !== 0) throw new CommandExitError(result);
      return result;
    } catch (error) {
      if (error instanceof CommandExitError) throw error;
      if (this.#options.killSignal?.aborted) await killAborted(this.#options.agent, this.pid);
      const explained = await explainLostStream(this.#options.agent, this.#options.listening.signal, error);
      this.#log.end(explained);
      throw explained;
    } finally {
      this.#options.listening.abort();
      this.#options.release();
    }
  }

  async #readEvents(): Promise<ProcessEvent_EndEvent> {
    const { process, onStdoutBytes, onStderrBytes } = this.#options;
    for await (const { output } of process) {
      if (output.case !== 'stdout' && output.case !== 'stderr') continue;
      const onBytes = output.case === 'stdout' ? onStdoutBytes : onStderrBytes;
      if (onBytes) {
        await callListener(() => onBytes(output.value));
        continue;
      }
      const text = this.#log.push(output.case, output.value);
      if (text) await this.#tell(output.case === 'stdout' ? { stdout: text } : { stderr: text });
    }
    if (process.end !== undefined) return process.end;
    throw new Error('the stream ended before the command');
  }

  #tell(piece: CommandOutput): Promise<void> {
    const { onStdout, onStderr } = this.#options;
    return callListener(() => ('stdout' in piece ? onStdout?.(piece.stdout) : onStderr?.(piece.stderr)));
  }
}

async function callListener(call: () => void | Promise<void>): Promise<void> {
  try {
    await call();
  } catch (cause) {
    throw toSandboxError('canceled', 'a listener of the output threw', { cause });
  }
}
