import { ApiError } from '@skerry/contract/error';
import { RuntimeLostError } from '@skerry/runtime';

/** By then the process that holds the driver has most likely been started again. */
const RETRY_SECONDS = '1';

/** The headers of an answer to a call that `cause` has cut off: when to make it again, where that helps. */
export const retryHeaders = (cause: unknown): Record<string, string> =>
  cause instanceof RuntimeLostError ? { 'Retry-After': RETRY_SECONDS } : {};

/** 503: the process that makes sandboxes has ended, and another one is being started. */
export const toLostError = (cause: RuntimeLostError): ApiError =>
  new ApiError(
    'unavailable',
    'the helper that runs sandboxes is being started again: try again in a second',
    {
      cause,
      headers: retryHeaders(cause),
    },
  );
