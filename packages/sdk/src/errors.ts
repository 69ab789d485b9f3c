/** Why a call failed. The set is closed; programs branch on the code and never on a message. */
export type SandboxErrorCode =
  | 'invalid_argument'
  | 'unauthenticated'
  | 'permission_denied'
  | 'not_found'
  | 'not_acceptable'
  | 'conflict'
  | 'resource_exhausted'
  | 'insufficient_storage'
  | 'too_large'
  | 'unimplemented'
  | 'unavailable'
  | 'sandbox_unavailable'
  | 'timeout'
  | 'canceled'
  | 'connection_failed'
  | 'command_failed'
  | 'output_lost'
  | 'build_failed'
  | 'internal';

export interface SandboxErrorOptions {
  cause?: unknown;
  requestId?: string | undefined;
  /** Kept by `RateLimitError` alone. */
  retryAfterMs?: number | undefined;
}

/**
 * Base class of every error of this package. The subclasses are those that programs branch on; all others differ by
 * `code` alone.
 */
export class SandboxError extends Error {
  override readonly name: string = 'SandboxError';
  readonly code: SandboxErrorCode;
  /** True when the service reports that it changed nothing and that the same call may succeed later. */
  readonly retryable: boolean;
  /** Identifies the request in the logs of the service. Absent when there was no response. */
  readonly requestId: string | undefined;

  constructor(code: SandboxErrorCode, message: string, options: SandboxErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.retryable = code === 'resource_exhausted' || code === 'unavailable';
    this.requestId = options.requestId;
  }
}

/** The request is invalid and will fail again unchanged. */
export class InvalidArgumentError extends SandboxError {
  override readonly name: string = 'InvalidArgumentError';
}

/** The key or token is missing, wrong, or not allowed to make this call. */
export class AuthenticationError extends SandboxError {
  override readonly name: string = 'AuthenticationError';
}

/** The sandbox, template, file or process does not exist. */
export class NotFoundError extends SandboxError {
  override readonly name: string = 'NotFoundError';
}

/** The sandbox cannot be reached: killed, expired or paused. */
export class SandboxUnavailableError extends SandboxError {
  override readonly name: string = 'SandboxUnavailableError';
}

/** What inside a sandbox prevents keeping its memory. */
export interface Obstacle {
  /** The kind, such as `traced_process`; see the page on pauses. New values may appear. */
  kind: string;
  /** The process that holds it, by its pid in the sandbox. Absent where it is not that of one process. */
  process?: { pid: number; command: string };
}

/**
 * A pause, fork or snapshot cannot keep the memory of the sandbox because of what a program in it holds. The sandbox runs on.
 * `retryable` is true where that ends by itself within seconds.
 */
export class MemoryNotKeptError extends SandboxError {
  override readonly name: string = 'MemoryNotKeptError';
  readonly obstacle: Obstacle;

  constructor(
    code: SandboxErrorCode,
    message: string,
    options: SandboxErrorOptions & { obstacle: Obstacle },
  ) {
    super(code, message, options);
    this.obstacle = options.obstacle;
  }
}

/** Too many requests, or too many sandboxes at once. */
export class RateLimitError extends SandboxError {
  override readonly name: string = 'RateLimitError';
  /** The time after which the service expects that the call can succeed. Absent when it does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(code: SandboxErrorCode, message: string, options: SandboxErrorOptions = {}) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A request or a command exceeded its timeout. */
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
 * Creates an error of the class that belongs to the code.
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
