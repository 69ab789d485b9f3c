/**
 * The closed set of errors that a server may answer, each with its HTTP status and the numeric Connect code
 * (https://connectrpc.com/docs/protocol/#error-codes). The numbers equal those of `Code` in `@connectrpc/connect`;
 * they are repeated here so that the agent can load this file without that package.
 */
const table = {
  invalid_argument: { status: 400, connect: 3 },
  unauthenticated: { status: 401, connect: 16 },
  permission_denied: { status: 403, connect: 7 },
  not_found: { status: 404, connect: 5 },
  method_not_allowed: { status: 405, connect: 12 },
  not_acceptable: { status: 406, connect: 3 },
  conflict: { status: 409, connect: 6 },
  gone: { status: 410, connect: 12 },
  payload_too_large: { status: 413, connect: 8 },
  unsupported_media_type: { status: 415, connect: 3 },
  outcome_unknown: { status: 422, connect: 2 },
  resource_exhausted: { status: 429, connect: 8 },
  internal: { status: 500, connect: 13 },
  unimplemented: { status: 501, connect: 12 },
  sandbox_unavailable: { status: 502, connect: 14 },
  bad_gateway: { status: 502, connect: 14 },
  unavailable: { status: 503, connect: 14 },
  timeout: { status: 504, connect: 4 },
  insufficient_storage: { status: 507, connect: 8 },
} as const;

export type ErrorCode = keyof typeof table;

/** The code of an error that another server has answered; `internal` for a status that is none of these. */
export const toErrorCode = (status: number): ErrorCode => {
  const codes = Object.keys(table) as ErrorCode[];
  return codes.find((code) => table[code].status === status) ?? 'internal';
};

export type ErrorStatus = (typeof table)[ErrorCode]['status'];
export type ErrorConnectCode = (typeof table)[ErrorCode]['connect'];

/** The JSON body of every error: clients read the numeric `code`, which repeats the HTTP status. */
export interface ErrorBody {
  code: number;
  message: string;
  error_code?: string;
  obstacle?: ErrorObstacle;
}

/** What inside a sandbox prevents keeping its memory. */
export interface ErrorObstacle {
  kind: string;
  /** The process that holds it, by its pid in the sandbox. Undefined where it is not that of one process. */
  process?: { pid: number; command: string };
}

export interface ApiErrorOptions {
  /** The underlying error. Logged, never shown to a caller. */
  cause?: unknown;
  /** The open-ended `error_code` of the body, such as `sandbox_capacity_unavailable`. */
  reason?: string;
  /** The `obstacle` of the body. */
  obstacle?: ErrorObstacle;
  /** Headers of the response, such as `Retry-After` (whole seconds). */
  headers?: Record<string, string>;
}

/** An error whose code and message are meant for the caller. Any other error reaches callers as `internal`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly reason: string | undefined;
  readonly obstacle: ErrorObstacle | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'ApiError';
    this.code = code;
    this.reason = options.reason;
    this.obstacle = options.obstacle;
    this.headers = options.headers ?? {};
  }

  get status(): ErrorStatus {
    return table[this.code].status;
  }

  get connectCode(): ErrorConnectCode {
    return table[this.code].connect;
  }
}

/** 400: the request is invalid; the message names the field, its place in the request and the allowed values. */
export const invalid = (message: string, options?: ApiErrorOptions): ApiError =>
  new ApiError('invalid_argument', message, options);

/** 404: the resource does not exist, or it does not belong to the caller. */
export const notFound = (message: string, options?: ApiErrorOptions): ApiError =>
  new ApiError('not_found', message, options);

/** 409: the present state of the resource, or a transition in progress, rules out the request. */
export const conflict = (message: string, options?: ApiErrorOptions): ApiError =>
  new ApiError('conflict', message, options);

/** 501: a part of the protocol that this server does not implement. */
export const unimplemented = (message: string, options?: ApiErrorOptions): ApiError =>
  new ApiError('unimplemented', message, options);

/** Whether an error says that there is no capacity or connection now. */
export const isUnavailable = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 'unavailable';

/** The `error_code` of a server that is ending: another one, or the next start, takes the call. */
export const SHUTTING_DOWN = 'server_shutting_down';

/** 503: the server is ending and has not begun the call. */
export const shuttingDown = (): ApiError =>
  new ApiError('unavailable', 'the server is shutting down', { reason: SHUTTING_DOWN });

/** Returns an `ApiError` as it is and wraps any other error as `internal`, keeping it as the cause for the log. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError('internal', 'internal server error', { cause: error });

/** Clients that repeat a call after 429 or 503 take their pace from `Retry-After`. */
const DEFAULT_RETRY_SECONDS = '1';

/** The headers of the response for a thrown value: those of the error, and `Retry-After` for each 429 and 503. */
export const toErrorHeaders = (error: unknown): Record<string, string> => {
  const { status, headers } = toApiError(error);
  return status === 429 || status === 503 ? { 'Retry-After': DEFAULT_RETRY_SECONDS, ...headers } : headers;
};

/** Clients retry on this code without knowing the finer causes, so every 503 has one. */
const DEFAULT_REASONS: Partial<Record<ErrorCode, string>> = { unavailable: 'temporarily_unavailable' };

/** The JSON body that a caller receives for a thrown value. */
export const toErrorBody = (error: unknown): ErrorBody => {
  const { code, status, message, obstacle, reason = DEFAULT_REASONS[code] } = toApiError(error);
  return {
    code: status,
    message,
    ...(reason !== undefined && { error_code: reason }),
    ...(obstacle && { obstacle }),
  };
};
