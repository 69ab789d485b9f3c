import type { Socket } from 'node:net';
import { ApiError } from '@skerry/contract/error';
import type { ExitStatus } from './exit-status.ts';
import type { OutputBudget } from './output/output-budget.ts';
import { createProcessOutput, type ProcessOutput } from './output/process-output.ts';
import type { ProcessOutputLog } from './output-log.ts';
import type { Output, Spawned } from './spawn-process.ts';
import type { Terminal } from './terminal.ts';

export interface RunningProcess {
  readonly pid: number;
  /** The output, which outlives the process. */
  readonly output: ProcessOutput;
  /** Undefined when it runs on pipes. */
  readonly terminal: Terminal | undefined;
  /** Writes to stdin. Resolves when the bytes are accepted: written, or waiting in a bounded buffer. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  closeStdin(): void;
  /** Signals this process only. From then on the end no longer waits for the output pipes to close. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): void;
}

export interface RunningProcessOptions {
  budget: OutputBudget;
  onEnd: (status: ExitStatus) => void;
  /** Gets the output of pipes too: all of it with `logsAll`, else what no caller reads. */
  log?: ProcessOutputLog;
  logsAll?: boolean;
  /** How long a process waits for its only readers before they are dropped. */
  stallMs?: number;
}

const MAX_STDIN_BYTES = 1024 * 1024;
/** After a signal: time to read what the process had already written, even when a grandchild keeps the pipe open. */
const LAST_OUTPUT_MS = 50;

/** Takes over a process that was just spawned. Its output is read from the start, also without subscribers. */
export const createRunningProcess = (spawned: Spawned, options: RunningProcessOptions): RunningProcess => {
  const { pid, stdin, terminal, outputs } = spawned;
  const { onEnd, budget, log, logsAll = false, stallMs } = options;
  let openPipes = outputs.length;
  let status: ExitStatus | undefined;
  let isSignalled = false;
  let isEnded = false;

  const output = createProcessOutput({
    budget,
    ...(stallMs === undefined ? {} : { stallMs }),
    onHold(isHeldBack) {
      for (const stream of streams) {
        if (isHeldBack) stream.pause();
        else stream.resume();
      }
    },
  });

  const read = ({ kind, open }: Output): Socket => {
    const pipe = open((bytes) => {
      if (kind !== 'pty' && (logsAll || output.isUnread)) log?.write(kind, bytes);
      output.write(kind, bytes);
    });
    // A terminal also reports with an error (EIO) that no process has it open.
    pipe.on('error', () => pipe.destroy());
    pipe.once('close', () => {
      openPipes -= 1;
      endWhenDone();
    });
    return pipe.resume();
  };

  const end = (last: ExitStatus): void => {
    if (isEnded) return;
    isEnded = true;
    stdin?.destroy();
    // A grandchild may continue to write: resume reading, or it would block for ever.
    output.end(last);
    log?.end();
    onEnd(last);
  };

  const endWhenDone = (): void => {
    if (status === undefined || isEnded) return;
    const last = status;
    if (openPipes === 0) end(last);
    else if (isSignalled) setTimeout(end, LAST_OUTPUT_MS, last);
  };

  const streams = outputs.map(read);
  // A broken pipe shows when the next write fails.
  stdin?.on('error', () => stdin.destroy());
  spawned.onExit((last) => {
    status = last;
    endWhenDone();
  });

  return {
    pid,
    output,
    terminal,
    async write(bytes, signal) {
      if (stdin === undefined) {
        const reason = terminal === undefined ? 'was started without stdin' : 'has a terminal; send pty';
        throw new ApiError('internal', `process ${pid} ${reason}`);
      }
      const closed = new ApiError('internal', `stdin of process ${pid} is closed`);
      if (!stdin.writable) throw closed;
      await new Promise<void>((resolve, reject) => {
        const settle = (error?: unknown): void => {
          stdin.off('drain', onDrain);
          signal.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        };
        const onDrain = (): void => settle();
        const onAbort = (): void => settle(signal.reason);
        signal.addEventListener('abort', onAbort);
        stdin.on('drain', onDrain);
        stdin.write(bytes, (error) => settle(error ? closed : undefined));
        // Most writes go through at once; then the callback, which knows of a broken pipe, comes before this.
        setImmediate(() => stdin.writableLength <= MAX_STDIN_BYTES && settle());
      });
    },
    closeStdin() {
      stdin?.end();
    },
    kill(signal) {
      isSignalled = true;
      spawned.kill(signal);
      endWhenDone();
    },
  };
};
