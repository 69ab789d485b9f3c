import { SandboxError } from '../errors.ts';

/** How a command ended. */
export interface CommandResult {
  /** -1 when a signal ended it. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** Like `exit status 3` or `signal: killed`. Absent when the exit code is 0. */
  error?: string;
}

/** A command that ended with an exit code other than 0. It has the fields of a successful result. */
export class CommandExitError extends SandboxError implements CommandResult {
  override readonly name: string = 'CommandExitError';
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly error: string;

  constructor(result: CommandResult) {
    const error = result.error ?? `exit status ${result.exitCode}`;
    super('command_failed', `the command ended with ${error}`);
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    this.error = error;
  }
}
