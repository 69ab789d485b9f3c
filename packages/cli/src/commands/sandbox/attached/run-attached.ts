import { CommandExitError, type CommandHandle, type RunOptions, type Sandbox } from '@skerry/sdk';
import { beforeBrokenPipe } from '../../../broken-pipe.ts';
import { toExitStatus, toSignalStatus } from '../../../exit-status.ts';
import { HELPER_TAG } from './helper-tag.ts';

export interface AttachedOptions extends Pick<RunOptions, 'user' | 'cwd' | 'envs' | 'timeoutMs'> {
  command: string;
  /** Whether the command reads the standard input of this process. */
  stdin: boolean;
  /** Take its output in place of the standard streams of this process. */
  onStdout?: (bytes: Uint8Array) => Promise<void> | void;
  onStderr?: (bytes: Uint8Array) => Promise<void> | void;
}

/**
 * Runs a command in a sandbox with the standard streams of this process, byte by byte, and resolves with its exit status, or 128
 * and the number of the signal that ended it. The first SIGINT interrupts the command, the second kills it; SIGTERM and SIGHUP kill
 * it, and the status is then theirs. Rejects with `timeout` when it outlives `timeoutMs`.
 */
export async function runAttached(
  sandbox: Sandbox,
  {
    command,
    stdin,
    onStdout = (bytes) => write(process.stdout, bytes),
    onStderr = (bytes) => write(process.stderr, bytes),
    ...options
  }: AttachedOptions,
): Promise<number> {
  const handle = await sandbox.commands.run(command, {
    ...options,
    background: true,
    logOutput: false,
    stdin,
    onStdoutBytes: onStdout,
    onStderrBytes: onStderr,
  });
  const typing = new AbortController();
  let endedBy: NodeJS.Signals | undefined;
  let isInterrupted = false;
  const interrupt = (): void => {
    void signalTree(sandbox, handle, isInterrupted ? 'KILL' : 'INT');
    isInterrupted = true;
  };
  const kill = (signal: NodeJS.Signals): void => {
    endedBy = signal;
    void signalTree(sandbox, handle, 'KILL');
  };
  beforeBrokenPipe(() => signalTree(sandbox, handle, 'KILL'));
  process.on('SIGINT', interrupt);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, kill);
  if (stdin) void passStdin(sandbox, handle, typing.signal);
  try {
    const result = await handle.wait().catch((error: unknown) => {
      if (error instanceof CommandExitError) return error;
      throw error;
    });
    return endedBy === undefined ? toExitStatus(result) : toSignalStatus(endedBy);
  } finally {
    typing.abort();
    process.off('SIGINT', interrupt);
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.off(signal, kill);
    if (stdin) process.stdin.destroy();
  }
}

const write = (stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> | void => {
  if (!stream.write(bytes)) return new Promise((resolve) => void stream.once('drain', resolve));
};

/** Sends standard input to the command until `signal` aborts, which the caller does when the command has ended. */
async function passStdin(sandbox: Sandbox, handle: CommandHandle, signal: AbortSignal): Promise<void> {
  try {
    await sandbox.commands.streamStdin(handle.pid, process.stdin, { signal });
    await handle.closeStdin();
  } catch {
    // The command has closed its stdin or has ended; its status says how it went.
  }
}

/**
 * Signals the process and all below it, as a terminal does: a shell that waits for a program does not pass a signal on. The kernel
 * lists the children of a thread in proc(5); where it does not, only the process itself gets the signal.
 */
async function signalTree(sandbox: Sandbox, { pid }: CommandHandle, signal: 'INT' | 'KILL'): Promise<void> {
  const script = `tree() { echo $1; for child in $(cat /proc/$1/task/*/children 2>/dev/null); do tree $child; done; }
kill -${signal} $(tree ${pid})`;
  await sandbox.commands
    .run(script, { user: 'root', cwd: '/', timeoutMs: 5000, tag: HELPER_TAG })
    .catch(() => {
      // The command has ended meanwhile, or the sandbox has: `wait` reports it.
    });
}
