/** A failure that the person at the terminal can act on: printed as one line, without a stack, with exit status 1. */
export class CliError extends Error {
  override name = 'CliError';
}
