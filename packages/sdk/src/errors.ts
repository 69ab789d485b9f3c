/** Why a call failed. The set is closed; programs decide on this and never on a message. */
export type SandboxErrorCode =
  | 'invalid_argument'
  | 'unauthenticated'
  | 'permission_denied'
  | 'not_found'
  | 'not_acceptable'
  | 'conflict'
  | 'resource_exhausted'
  | 'insufficient_storage'
  | 'unimplemented'
  | 'unavailable'
  | 'sandbox_unavailable'
  | 'timeout'
  | 'canceled'
  | 'connection_failed'
  | 'command_failed'
  | 'output_lost'
  | 'internal';

export interface SandboxErrorOptions {
  cause?: unknown;
  requestId?: string | undefined;
}

/** Every error of this package. The subclasses are those that programs branch on; all others differ by `code` alone. */
export class SandboxError extends Error {
  override readonly name: string = 'SandboxError';
  readonly code: SandboxErrorCode;
  /** True when the service said that nothing has happened and that the same call may succeed later. */
  readonly retryable: boolean;
  /** Names the request in the logs of the service. Absent when no answer came. */
  readonly requestId: string | undefined;

  constructor(code: SandboxErrorCode, message: string, options: SandboxErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.retryable = code === 'resource_exhausted' || code === 'unavailable';
    this.requestId = options.requestId;
  }
}

/** The call cannot be right as it stands. */
export class InvalidArgumentError extends SandboxError {
  override readonly name: string = 'InvalidArgumentError';
}

/** A key or token is missing, wrong, or not allowed to do this. */
export class AuthenticationError extends SandboxError {
  override readonly name: string = 'AuthenticationError';
}

/** There is no such sandbox, template, file or process. */
export class NotFoundError extends SandboxError {
  override readonly name: string = 'NotFoundError';
}

/** The sandbox cannot be reached: killed, expired or paused. */
export class SandboxUnavailableError extends SandboxError {
  override readonly name: string = 'SandboxUnavailableError';
}

/** Too many requests, or too many sandboxes at once. */
export class RateLimitError extends SandboxError {
  override readonly name: string = 'RateLimitError';
}

/** A request or a command took longer than it was given. */
export class TimeoutError extends SandboxError {
  override readonly name: string = 'TimeoutError';
}

const classes: Partial<Record<SandboxErrorCode, typeof SandboxError>> = {
  invalid_argument: InvalidArgumentError,
  unauthenticated: AuthenticationError,
  permission_denied: AuthenticationError,
  not_found: NotFoundError,
  sandbox_unavailable: SandboxUnavailableError,
  resource_exhausted: RateLimitError,
  timeout: TimeoutError,
};

/**
 * The error of the class that belongs to the code.
 *
 * @internal
 */
export function toSandboxError(
  code: SandboxErrorCode,
  message: string,
  options: SandboxErrorOptions = {},
): SandboxError {
  return new (classes[code] ?? SandboxError)(code, message, options);
}
