export type RuntimeErrorCode =
  | 'not_found'
  | 'already_exists'
  /** This runtime, on this host, cannot do it: `Runtime.features` says so beforehand. */
  | 'unsupported'
  /** The host has no slot, memory, disk or process left for it. */
  | 'exhausted'
  /** The instance is there but cannot be reached now: it is stopping, it died, or the wait was aborted. */
  | 'unavailable'
  /** The instance was reached and nothing listens on that port. */
  | 'refused'
  /** What was kept on disk is torn or was altered; the message says how that shows. */
  | 'damaged'
  | 'internal';

/** What every driver throws. The message is for the operator's log, never for a caller of the API. */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'RuntimeError';
    this.code = code;
  }
}

/**
 * The process that holds the driver ended, or is not up again yet: what was asked for may have been begun. Sandboxes run on, and the
 * same call can be made again a moment later.
 */
export class RuntimeLostError extends RuntimeError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('unavailable', message, options);
    this.name = 'RuntimeLostError';
  }
}

/** Whether `error` is a RuntimeError, of that code when one is given. */
export const isRuntimeError = (error: unknown, code?: RuntimeErrorCode): error is RuntimeError =>
  error instanceof RuntimeError && (code === undefined || error.code === code);

/** Keeps a RuntimeError as it is and makes any other failure `internal`, with its cause. */
export const toRuntimeError = (error: unknown, step: string): RuntimeError =>
  error instanceof RuntimeError ? error : new RuntimeError('internal', `${step} failed`, { cause: error });
