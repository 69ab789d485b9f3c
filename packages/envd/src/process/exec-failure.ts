/** The program could not be executed; a shell prints this message and exits with this code. */
export class ExecFailure extends Error {
  readonly exitCode: 126 | 127;
  constructor(exitCode: 126 | 127, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

export const notFound = (cmd: string): ExecFailure =>
  new ExecFailure(127, cmd.includes('/') ? `${cmd}: No such file or directory` : `${cmd}: command not found`);
