import type { ProcessEvent_EndEvent } from '@skerry/envd-client/process';
import { SandboxError } from '../errors.ts';

/** How a command ended. */
export interface CommandResult {
  /** -1 when a signal ended it. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** Such as `exit status 3` or `signal: killed`. Absent when the exit code is 0. */
  error?: string;
  /** Number of the signal that ended it, 9 for SIGKILL. Absent after an exit, and where the server does not report it. */
  signal?: number;
}

/**
 * Thrown when a command ended with an exit code other than 0. It has the fields of a successful result; the message ends with the last
 * line of `stderr`.
 */
export class CommandExitError extends SandboxError implements CommandResult {
  override readonly name: string = 'CommandExitError';
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly error: string;
  readonly signal?: number;

  constructor(result: CommandResult) {
    const error = result.error ?? `exit status ${result.exitCode}`;
    const lastLine = toLastLine(result.stderr);
    super('command_failed', `the command ended with ${error}${lastLine === '' ? '' : `: ${lastLine}`}`);
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    this.error = error;
    if (result.signal !== undefined) this.signal = result.signal;
  }
}

const MAX_LINE_LENGTH = 200;

/** The last line of the text that is not empty: most programs say there what went wrong. */
function toLastLine(text: string): string {
  const line = text.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line;
}

/**
 * How a process ended, from the last event of its stream.
 *
 * @internal
 */
export const toResult = ({
  exitCode,
  error,
  skerrySignal,
}: ProcessEvent_EndEvent): Omit<CommandResult, 'stdout' | 'stderr'> => ({
  exitCode,
  ...(error ? { error } : {}),
  ...(skerrySignal === undefined ? {} : { signal: skerrySignal }),
});
