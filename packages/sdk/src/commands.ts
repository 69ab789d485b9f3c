import type { ProcessEvent } from '@skerry/envd-client/process';
import { type Agent, type AgentCallOptions, toUserHeader } from './agent.ts';
import type { CallOptions } from './call.ts';
import { CommandHandle, type OutputListeners } from './command-handle.ts';
import type { CommandResult } from './command-result.ts';
import { toSandboxError } from './errors.ts';
import { keepaliveHeader, openStream } from './event-stream.ts';
import { closeStdin, killProcess, type StdinData, sendStdin, streamStdin } from './process-input.ts';

export interface RunOptions extends AgentCallOptions, OutputListeners {
  /** Resolve with a handle as soon as the command has started. */
  background?: boolean | undefined;
  /** Working directory, relative to the user's home. Default: the sandbox's own. */
  cwd?: string | undefined;
  /** Added to the environment of the sandbox. */
  envs?: Record<string, string> | undefined;
  /** Life of the command in milliseconds; it is killed then. 0 is without end. Default 60 000. */
  timeoutMs?: number | undefined;
  /** Keep stdin open for `sendStdin` and `streamStdin`. Default: it reads an empty stdin. */
  stdin?: boolean | undefined;
}

export interface AttachOptions extends AgentCallOptions, OutputListeners {
  /** How long to listen, in milliseconds. The command outlives it. Default: to its end. */
  timeoutMs?: number | undefined;
}

/** A process that was started through the agent and is alive. */
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
   * Runs a command line in a login shell and resolves when it has ended with exit code 0; throws `CommandExitError` for any
   * other. In the background it resolves when the command has started. Aborting `signal` kills the command.
   */
  run(command: string, options: RunOptions & { background: true }): Promise<CommandHandle>;
  run(command: string, options?: RunOptions & { background?: false }): Promise<CommandResult>;
  run(command: string, options?: RunOptions): Promise<CommandHandle | CommandResult>;
  async run(command: string, options: RunOptions = {}): Promise<CommandHandle | CommandResult> {
    const { cwd, envs, stdin = false, timeoutMs = defaultTimeoutMs } = options;
    const handle = await this.#attach({ ...options, timeoutMs, killSignal: options.signal }, (rpc) =>
      this.#agent.client.process.start(
        {
          process: {
            cmd: '/bin/bash',
            args: ['-l', '-c', command],
            ...(envs ? { envs } : {}),
            ...(cwd === undefined ? {} : { cwd }),
          },
          stdin,
        },
        rpc,
      ),
    );
    return options.background ? handle : handle.wait();
  }

  /**
   * Attaches to a running command. Its output is delivered from now on; nothing is replayed. Aborting `signal` only
   * stops listening. Throws `NotFoundError`.
   */
  connect(pid: number, options: AttachOptions = {}): Promise<CommandHandle> {
    return this.#attach(options, (rpc) =>
      this.#agent.client.process.connect({ process: { selector: { case: 'pid', value: pid } } }, rpc),
    );
  }

  /** The live processes that were started through the agent, by anybody. */
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

  /** Sends SIGKILL to one process, not to its children. False when there is none. */
  kill(pid: number, options: CallOptions = {}): Promise<boolean> {
    return killProcess(this.#agent, pid, options);
  }

  /** Writes once to the stdin of a process that was started with `stdin: true`. */
  sendStdin(pid: number, data: StdinData, options: CallOptions = {}): Promise<void> {
    return sendStdin(this.#agent, pid, data, options);
  }

  /**
   * Writes all pieces in order over one request, as fast as the process reads them, and resolves when the last is written.
   * Neither starts nor closes the process's stdin. Without `requestTimeoutMs` it takes as long as the source does.
   */
  streamStdin(pid: number, source: AsyncIterable<StdinData>, options: CallOptions = {}): Promise<void> {
    return streamStdin(this.#agent, pid, source, options);
  }

  /** Lets a process read the end of its stdin. Closing twice is no error. */
  closeStdin(pid: number, options: CallOptions = {}): Promise<void> {
    return closeStdin(this.#agent, pid, options);
  }

  async #attach(
    options: AttachOptions & { killSignal?: AbortSignal | undefined },
    open: (rpc: StreamOptions) => AsyncIterable<{ event?: ProcessEvent | undefined }>,
  ): Promise<CommandHandle> {
    const headers = { ...keepaliveHeader, ...toUserHeader(options.user) };
    const { first, rest, stream } = await openStream(this.#agent, options, (signal) =>
      open({ signal, headers, timeoutMs: options.timeoutMs ?? 0 }),
    );
    if (first.event?.event.case !== 'start') {
      stream.abort();
      throw toSandboxError('internal', 'the first message of the stream was not its start');
    }
    return new CommandHandle({
      agent: this.#agent,
      pid: first.event.event.value.pid,
      events: rest,
      stream,
      onStdout: options.onStdout,
      onStderr: options.onStderr,
      killSignal: options.killSignal,
    });
  }
}

interface StreamOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
  timeoutMs: number;
}
