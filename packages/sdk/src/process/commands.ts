import { toSandboxError } from '../errors.ts';
import type { Agent, AgentCallOptions } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';
import { CommandHandle, type OutputListeners } from './command-handle.ts';
import type { CommandResult } from './command-result.ts';
import { listenToProcess } from './listen-to-process.ts';
import {
  attachProcess,
  fromNowOn,
  type OpenedProcess,
  type OpenProcessOptions,
  openProcess,
  skerryHoldMs,
} from './open-process.ts';
import { OutputLostError } from './output-lost-error.ts';
import { closeStdin, killProcess, type StdinData, sendInput, streamInput } from './process-input.ts';

export interface RunOptions extends AgentCallOptions, OutputListeners {
  /** Resolve with a handle as soon as the command has started. */
  background?: boolean | undefined;
  /** Working directory, relative to the user's home. Default: the sandbox's own. */
  cwd?: string | undefined;
  /** Added to the environment of the sandbox. */
  envs?: Record<string, string> | undefined;
  /** Timeout of the command in milliseconds, after which it is killed. 0 means no timeout. Default 60 000. */
  timeoutMs?: number | undefined;
  /**
   * Also write its output to the log of the sandbox, a bounded amount. Default: that of commands in the background. Of others, only
   * what no program reads is there.
   */
  logOutput?: boolean | undefined;
  /** Arbitrary text, which `list` and the log of the sandbox show of the command. */
  tag?: string | undefined;
  /** Keep stdin open for `sendStdin` and `streamStdin`. Default: it reads an empty stdin. */
  stdin?: boolean | undefined;
}

export interface AttachOptions extends AgentCallOptions, OutputListeners {
  /** How long to listen, in milliseconds. The command continues after it. Default: to its end. */
  timeoutMs?: number | undefined;
  /** Start at this byte of its output, the `offset` of an earlier handle. 0 is the start. Default: new output only. */
  offset?: number | undefined;
}

/** A live process that was started through the agent. */
export interface CommandInfo {
  pid: number;
  cmd: string;
  args: string[];
  envs: Record<string, string>;
  cwd?: string;
  tag?: string;
}

const defaultTimeoutMs = 60_000;

/** Runs commands in one sandbox. */
export class Commands {
  readonly #agent: Agent;

  /** @internal */
  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /**
   * Runs a command line in a login shell and resolves when it has ended with exit code 0; throws `CommandExitError`
   * for any other. In the background it resolves when the command has started, and its output is also in the log of the sandbox. Aborting `signal` kills the command.
   */
  run(command: string, options: RunOptions & { background: true }): Promise<CommandHandle>;
  run(command: string, options?: RunOptions & { background?: false }): Promise<CommandResult>;
  run(command: string, options?: RunOptions): Promise<CommandHandle | CommandResult>;
  async run(command: string, options: RunOptions = {}): Promise<CommandHandle | CommandResult> {
    const { cwd, envs, stdin = false, timeoutMs = defaultTimeoutMs, background = false } = options;
    const { logOutput = background, tag } = options;
    const handle = await this.#follow(
      { ...options, timeoutMs, killSignal: options.signal },
      async (opening) => {
        const opened = await openProcess(this.#agent, opening, (rpc) =>
          this.#agent.client.process.start(
            {
              process: {
                cmd: '/bin/bash',
                args: ['-l', '-c', command],
                ...(envs ? { envs } : {}),
                ...(cwd === undefined ? {} : { cwd }),
              },
              stdin,
              skerryHoldMs,
              ...(logOutput ? { skerryLogOutput: true } : {}),
              ...(tag === undefined ? {} : { tag }),
            },
            rpc,
          ),
        );
        return { ...opened, offset: 0 };
      },
    );
    return background ? handle : handle.wait();
  }

  /**
   * Attaches to a command that runs or has ended less than 30 seconds ago. Its output is delivered from now on, or
   * from `offset`; if some of it is no longer available, `onOutputLost` is called. Aborting `signal` only stops
   * listening. Rejects with `NotFoundError`, and with `offset` also `OutputLostError`, and `unimplemented` when the server
   * does not support offsets.
   */
  connect(pid: number, options: AttachOptions = {}): Promise<CommandHandle> {
    const { offset, onOutputLost } = options;
    return this.#follow(options, async (opening) => {
      const from = offset === undefined ? fromNowOn : BigInt(offset);
      const opened = await attachProcess(this.#agent, { ...opening, pid, offset: from });
      try {
        if (offset !== undefined) checkStart(offset, opened.offset, onOutputLost);
        return opened;
      } catch (error) {
        opened.events.stream.abort();
        throw error;
      }
    });
  }

  /** The live processes that any client started through the agent. */
  async list(options: CallOptions = {}): Promise<CommandInfo[]> {
    const { processes } = await this.#agent.rpc(options, ({ process }, rpc) => process.list({}, rpc));
    return processes.map(({ pid, tag, config }) => ({
      pid,
      cmd: config?.cmd ?? '',
      args: config?.args ?? [],
      envs: config?.envs ?? {},
      ...(config?.cwd === undefined ? {} : { cwd: config.cwd }),
      ...(tag === undefined ? {} : { tag }),
    }));
  }

  /** Sends SIGKILL to one process, not to its children. Returns false when it does not exist. */
  kill(pid: number, options: CallOptions = {}): Promise<boolean> {
    return killProcess(this.#agent, pid, options);
  }

  /** Writes once to the stdin of a process that was started with `stdin: true`. */
  sendStdin(pid: number, data: StdinData, options: CallOptions = {}): Promise<void> {
    return sendInput(this.#agent, { pid, kind: 'stdin' }, data, options);
  }

  /**
   * Writes all chunks in order over one request, as fast as the process reads them, and resolves when the last is
   * written. Neither starts nor closes the process's stdin. Without `requestTimeoutMs` it takes as long as the source
   * does.
   */
  streamStdin(pid: number, source: AsyncIterable<StdinData>, options: CallOptions = {}): Promise<void> {
    return streamInput(this.#agent, { pid, kind: 'stdin' }, source, options);
  }

  /** Closes the stdin of a process. Closing twice is not an error. */
  closeStdin(pid: number, options: CallOptions = {}): Promise<void> {
    return closeStdin(this.#agent, pid, options);
  }

  async #follow(
    options: AttachOptions & { killSignal?: AbortSignal | undefined },
    open: (options: OpenProcessOptions) => Promise<OpenedProcess>,
  ): Promise<CommandHandle> {
    const listened = await listenToProcess(this.#agent, options, open);
    const { onStdout, onStderr, onStdoutBytes, onStderrBytes, killSignal } = options;
    return new CommandHandle({
      ...listened,
      agent: this.#agent,
      onStdout,
      onStderr,
      onStdoutBytes,
      onStderrBytes,
      killSignal,
    });
  }
}

function checkStart(
  wanted: number,
  given: number | undefined,
  onOutputLost: OutputListeners['onOutputLost'],
): void {
  if (given === undefined) {
    throw toSandboxError('unimplemented', 'the server does not keep output: attach without an offset');
  }
  if (given < wanted) {
    throw toSandboxError('invalid_argument', `offset is ${wanted}, the command has written ${given} bytes`);
  }
  if (given === wanted) return;
  const lost = { offset: wanted, lostBytes: given - wanted };
  if (onOutputLost === undefined) throw new OutputLostError(lost);
  onOutputLost(lost);
}
