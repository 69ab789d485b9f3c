/** No connection to another server was made, so it has nothing of the call. */
export class UnreachablePeerError extends Error {
  constructor(options: { cause: Error }) {
    super(`the other server cannot be reached: ${options.cause.message}`, options);
    this.name = 'UnreachablePeerError';
  }
}
