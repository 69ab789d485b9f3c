import { ConnectError } from '@connectrpc/connect';
import { toApiError } from '@skerry/contract/error';
import type { Log } from '../log.ts';
import { fromErrno } from '../system/errno.ts';

/**
 * The Connect error for an error of a handler: an `ApiError` by its code, a failed system call by its errno, any other as
 * `internal` with a generic message. Unexpected errors are logged.
 */
export const toConnectError = (error: unknown, { log, url }: { log: Log; url: string }): ConnectError => {
  if (error instanceof ConnectError) return error;
  // What Node's own functions throw for a signal: its reason is in the cause.
  if (error instanceof Error && error.name === 'AbortError' && error.cause instanceof ConnectError)
    return error.cause;
  const apiError = toApiError(fromErrno(error));
  if (apiError.code === 'internal') log('call failed', { url, error: apiError.cause ?? apiError });
  return new ConnectError(apiError.message, apiError.connectCode);
};
