/** A failure that the user can resolve: printed as one line, without a stack, with exit status 1. */
export class CliError extends Error {
  override name = 'CliError';
}
