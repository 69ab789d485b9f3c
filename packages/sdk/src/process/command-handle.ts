import type { ProcessEvent_EndEvent } from '@skerry/envd-client/process';
import { toSandboxError } from '../errors.ts';
import { explainLostStream } from '../files/event-stream.ts';
import type { Agent } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';
import { type CommandOutput, CommandOutputLog } from './command-output.ts';
import { CommandExitError, type CommandResult } from './command-result.ts';
import type { LostOutput } from './output-lost-error.ts';
import { closeStdin, killProcess, sendInput } from './process-input.ts';
import type { ProcessStream } from './process-stream.ts';

export interface OutputListeners {
  /** Called with each piece of text. The next piece waits for the promise it returns, and so does the command. */
  onStdout?: ((text: string) => void | Promise<void>) | undefined;
  onStderr?: ((text: string) => void | Promise<void>) | undefined;
  /**
   * Told when output could not be had after a broken connection, before what follows the gap. Without it the handle fails with
   * `OutputLostError`.
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
  /** When this is why the stream ended, the command is killed. */
  killSignal?: AbortSignal | undefined;
}

const killTimeoutMs = 5_000;

/**
 * A command that was started or attached to. Iterating yields its output from the start of the stream to the end of the
 * command; `wait` gives its result. Output is kept until the handle is dropped.
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
      // Whoever waits or iterates is told; a handle that nobody asks must not end the program.
    });
  }

  /** What it has written to stdout since this handle exists. */
  get stdout(): string {
    return this.#log.textOf('stdout');
  }

  /** What it has written to stderr since this handle exists. */
  get stderr(): string {
    return this.#log.textOf('stderr');
  }

  /**
   * How many bytes of output, of stdout and stderr together, came before what this handle delivers next. `commands.connect`
   * attaches there, also from another program. Undefined when the server does not tell.
   */
  get offset(): number | undefined {
    return this.#options.process.offset;
  }

  [Symbol.asyncIterator](): AsyncGenerator<CommandOutput, void, undefined> {
    return this.#log[Symbol.asyncIterator]();
  }

  /**
   * Resolves when the command has ended with exit code 0. Throws `CommandExitError` for any other, `timeout` when it outlived
   * its `timeoutMs`, `sandbox_unavailable` when the sandbox ended before it and `canceled` after `disconnect`. A broken
   * connection is made again and output goes on where it stood; `connection_failed` when that does not succeed within about
   * ten seconds, `OutputLostError` when the sandbox has not kept all of it. In both cases the command may still run.
   */
  wait(): Promise<CommandResult> {
    return this.#result;
  }

  /** Sends SIGKILL to the command, not to its children. False when it had ended already. */
  kill(options: CallOptions = {}): Promise<boolean> {
    return killProcess(this.#options.agent, this.pid, options);
  }

  /** Writes to its stdin, which must have been opened with `stdin: true`. */
  sendStdin(data: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    return sendInput(this.#options.agent, { pid: this.pid, kind: 'stdin' }, data, options);
  }

  /** Lets it read the end of its stdin. Closing twice is no error. */
  closeStdin(options: CallOptions = {}): Promise<void> {
    return closeStdin(this.#options.agent, this.pid, options);
  }

  /**
   * Stops listening. The command runs on; one that writes much may first be held back for ten seconds, in case
   * somebody attaches.
   */
  disconnect(): void {
    this.#options.listening.abort(toSandboxError('canceled', 'disconnected from the command'));
  }

  async #follow(): Promise<CommandResult> {
    try {
      const end = await this.#readEvents();
      for (const piece of this.#log.end()) await this.#tell(piece);
      const { stdout, stderr } = this;
      const result = { exitCode: end.exitCode, stdout, stderr, ...(end.error ? { error: end.error } : {}) };
      if (result.exitCode !== 0) throw new CommandExitError(result);
      return result;
    } catch (error) {
      if (error instanceof CommandExitError) throw error;
      if (this.#options.killSignal?.aborted) {
        await this.kill({ requestTimeoutMs: killTimeoutMs }).catch(() => {
          // It is gone, or cannot be reached: the caller is told of the abort in any case.
        });
      }
      const explained = await explainLostStream(this.#options.agent, this.#options.listening.signal, error);
      this.#log.end(explained);
      throw explained;
    } finally {
      this.#options.listening.abort();
      this.#options.release();
    }
  }

  async #readEvents(): Promise<ProcessEvent_EndEvent> {
    const { process } = this.#options;
    for await (const { output } of process) {
      if (output.case !== 'stdout' && output.case !== 'stderr') continue;
      const text = this.#log.push(output.case, output.value);
      if (text) await this.#tell(output.case === 'stdout' ? { stdout: text } : { stderr: text });
    }
    if (process.end !== undefined) return process.end;
    throw new Error('the stream ended before the command');
  }

  async #tell(piece: CommandOutput): Promise<void> {
    try {
      if ('stdout' in piece) await this.#options.onStdout?.(piece.stdout);
      else await this.#options.onStderr?.(piece.stderr);
    } catch (cause) {
      throw toSandboxError('canceled', 'a listener of the output threw', { cause });
    }
  }
}
