import type { Agent, AgentCallOptions } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';
import { listenToProcess } from './listen-to-process.ts';
import {
  attachProcess,
  fromNowOn,
  type OpenedProcess,
  type OpenProcessOptions,
  openProcess,
  skerryHoldMs,
} from './open-process.ts';
import { killProcess, type StdinData, sendInput, streamInput } from './process-input.ts';
import { PtyHandle, type PtyListeners, type PtySize, resizePty } from './pty-handle.ts';

export interface PtyCreateOptions extends AgentCallOptions, PtyListeners, PtySize {
  /** Command line for a login shell. Default: an interactive login shell. */
  command?: string | undefined;
  /** Working directory, relative to the user's home. Default: the sandbox's own. */
  cwd?: string | undefined;
  /**
   * Added to the environment of the sandbox. Default: `TERM=xterm-256color` and UTF-8 as the locale; both can be
   * replaced.
   */
  envs?: Record<string, string> | undefined;
  /** Timeout of the terminal in milliseconds, after which its program is killed. Default 0: none. */
  timeoutMs?: number | undefined;
}

export interface PtyAttachOptions extends AgentCallOptions, PtyListeners {
  /** How long to listen, in milliseconds. The terminal continues after it. Default: to its end. */
  timeoutMs?: number | undefined;
}

const defaultEnvs = { TERM: 'xterm-256color', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };

/** Opens terminals in one sandbox. */
export class Pty {
  readonly #agent: Agent;

  /** @internal */
  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /**
   * Opens a terminal of this size with a shell on it and resolves when the shell has started. Aborting `signal` kills
   * it. Rejects with `InvalidArgumentError` for a size of 0.
   */
  create(options: PtyCreateOptions): Promise<PtyHandle> {
    const { cols, rows, command, cwd, envs } = options;
    const args = command === undefined ? ['-i', '-l'] : ['-l', '-c', command];
    return this.#follow({ ...options, killSignal: options.signal }, async (opening) => {
      const opened = await openProcess(this.#agent, opening, (rpc) =>
        this.#agent.client.process.start(
          {
            process: {
              cmd: '/bin/bash',
              args,
              envs: { ...defaultEnvs, ...envs },
              ...(cwd === undefined ? {} : { cwd }),
            },
            pty: { size: { cols, rows } },
            skerryHoldMs,
          },
          rpc,
        ),
      );
      return { ...opened, offset: 0 };
    });
  }

  /**
   * Attaches to a terminal, in addition to other clients. Its output is delivered from now on; a full-screen program
   * redraws after a `resize`. Aborting `signal` only stops listening. Rejects with `NotFoundError`.
   */
  connect(pid: number, options: PtyAttachOptions = {}): Promise<PtyHandle> {
    return this.#follow(options, (opening) =>
      attachProcess(this.#agent, { ...opening, pid, offset: fromNowOn }),
    );
  }

  /** Types into a terminal: `\r` is the enter key, `\x03` Ctrl-C, `\x04` the end of input. */
  sendInput(pid: number, data: StdinData, options: CallOptions = {}): Promise<void> {
    return sendInput(this.#agent, { pid, kind: 'pty' }, data, options);
  }

  /**
   * Types all chunks in order over one request and resolves when the last is written. Without `requestTimeoutMs` it
   * takes as long as the source does.
   */
  streamInput(pid: number, source: AsyncIterable<StdinData>, options: CallOptions = {}): Promise<void> {
    return streamInput(this.#agent, { pid, kind: 'pty' }, source, options);
  }

  /** Changes the size of a terminal; programs on it get SIGWINCH. Rejects with `InvalidArgumentError` for a size of 0. */
  resize(pid: number, size: PtySize, options: CallOptions = {}): Promise<void> {
    return resizePty(this.#agent, pid, size, options);
  }

  /** Sends SIGKILL to the program of the terminal. Returns false when it does not exist. */
  kill(pid: number, options: CallOptions = {}): Promise<boolean> {
    return killProcess(this.#agent, pid, options);
  }

  async #follow(
    options: PtyAttachOptions & { killSignal?: AbortSignal | undefined },
    open: (options: OpenProcessOptions) => Promise<OpenedProcess>,
  ): Promise<PtyHandle> {
    const { onData, onOutputLost = ignoreLoss, killSignal } = options;
    const listened = await listenToProcess(this.#agent, { ...options, onOutputLost }, open);
    return new PtyHandle({ agent: this.#agent, ...listened, onData, killSignal });
  }
}

/** A terminal redraws sooner or later, so a lost part of its output does not end the session. */
const ignoreLoss = (): void => {};
