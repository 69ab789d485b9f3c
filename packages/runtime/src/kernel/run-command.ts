import { spawn } from 'node:child_process';
import { RuntimeError } from '../error.ts';

export interface Command {
  /** Looked up in the system's folders only, never in the caller's PATH. */
  file: string;
  args: readonly string[];
  /** Written to stdin; stdin is empty without it. */
  input?: string | undefined;
  /** Open descriptors that the command gets as 3, 4, … */
  fds?: readonly number[];
  env?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** Those that are no failure. Default: 0 alone. */
  exitCodes?: readonly number[];
  /** Default 30 s: a command that hangs is killed, it never hangs its caller. */
  timeoutMs?: number;
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const outputLimit = 1 << 20;

/**
 * Runs one command without a shell and resolves with its stdout (the first MiB) when it exits well. Rejects with
 * `unavailable` on abort, otherwise `internal`, with the end of its stderr in the message when it has run. Nothing of the command is left when it rejects.
 */
export function runCommand(command: Command): Promise<string> {
  const { file, args, input, fds = [], env, signal, exitCodes = [0], timeoutMs = 30_000 } = command;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new RuntimeError('unavailable', `${file} was not started: aborted`, { cause: signal.reason }));
      return;
    }
    const child = spawn(file, args, {
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...fds],
      env: { PATH: systemPath, LC_ALL: 'C', ...env },
    });
    const abort = (): void => void child.kill('SIGKILL');
    // Not the timeout of spawn: that one keeps this process alive when the command could not be started.
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const output = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (output.stdout.length < outputLimit) output.stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output.stderr = (output.stderr + text).slice(-4096);
    });
    // A command that exits without reading its stdin is judged by its exit, not by the broken pipe.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    child.on('error', (error) => {
      settle();
      reject(new RuntimeError('internal', `${file} could not be started`, { cause: error }));
    });
    child.on('close', (exitCode, killedBy) => {
      settle();
      if (exitCode !== null && exitCodes.includes(exitCode)) resolve(output.stdout);
      else if (signal?.aborted) {
        reject(new RuntimeError('unavailable', `${file} was aborted`, { cause: signal.reason }));
      } else {
        const how = exitCode === null ? `was ended by ${killedBy}` : `exited with ${exitCode}`;
        reject(new RuntimeError('internal', `${file} ${how}: ${output.stderr.trim()}`));
      }
    });
  });
}
