/** A failure that the user can resolve: printed as one line, without a stack, with exit status 1. */
export class UserError extends Error {
  override name = 'UserError';
  /** Says what to do, on a line of its own. */
  readonly hint: string | undefined;
  /** The last lines of a program that failed. They are printed before the message. */
  readonly output: readonly string[] | undefined;

  constructor(
    message: string,
    options: { cause?: unknown; hint?: string | undefined; output?: readonly string[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
    this.output = options.output;
  }
}
