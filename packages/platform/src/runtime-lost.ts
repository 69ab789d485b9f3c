import { ApiError } from '@skerry/contract/error';
import { RuntimeLostError } from '@skerry/runtime';
import { NodeUnreachableError } from './hosts/unreachable.ts';

/** The process of the driver has most likely restarted after this time. */
const RETRY_SECONDS = '1';

/** The headers of the response to a call that `cause` interrupted: when to retry, where that helps. */
export const retryHeaders = (cause: unknown): Record<string, string> =>
  cause instanceof RuntimeLostError ? { 'Retry-After': RETRY_SECONDS } : {};

/** 503: the process that makes sandboxes has ended and is restarting, or a node cannot be reached. */
export const toLostError = (cause: RuntimeLostError): ApiError =>
  new ApiError(
    'unavailable',
    cause instanceof NodeUnreachableError
      ? `${cause.message} now: try again later`
      : 'the helper process that runs sandboxes is restarting: try again in a second',
    { cause, headers: retryHeaders(cause) },
  );
