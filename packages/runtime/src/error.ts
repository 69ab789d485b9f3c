export type RuntimeErrorCode =
  | 'not_found'
  | 'already_exists'
  /** This runtime does not support it on this host; `Runtime.features` reports that beforehand. */
  | 'unsupported'
  /** The host has no free slot, memory, disk or process for it. */
  | 'exhausted'
  /** The instance exists but cannot be reached now: it is stopping, it died, or the wait was aborted. */
  | 'unavailable'
  /** The instance was reached and nothing listens on that port. */
  | 'refused'
  /** Something inside cannot be kept in memory: an `ObstacleError` says what. */
  | 'blocked'
  /** Data on disk is incomplete or was changed; the message says what was found. */
  | 'damaged'
  | 'internal';

/** The error of every driver. The message is for the operator's log, never for a caller of the API. */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'RuntimeError';
    this.code = code;
  }
}

/**
 * The process that holds the driver ended, or has not restarted yet: the requested work may have begun. Sandboxes keep
 * running, and the call can be repeated a moment later.
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
