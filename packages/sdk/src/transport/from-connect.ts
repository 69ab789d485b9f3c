import { Code, ConnectError } from '@connectrpc/connect';
import { HttpError } from '@skerry/envd-client';
import { SandboxError, type SandboxErrorCode, toSandboxError } from '../errors.ts';
import { fromResponse } from './from-response.ts';

const codes: Record<Code, SandboxErrorCode> = {
  [Code.Canceled]: 'canceled',
  [Code.Unknown]: 'internal',
  [Code.InvalidArgument]: 'invalid_argument',
  [Code.DeadlineExceeded]: 'timeout',
  [Code.NotFound]: 'not_found',
  [Code.AlreadyExists]: 'conflict',
  [Code.PermissionDenied]: 'permission_denied',
  [Code.ResourceExhausted]: 'resource_exhausted',
  [Code.FailedPrecondition]: 'invalid_argument',
  [Code.Aborted]: 'conflict',
  [Code.OutOfRange]: 'invalid_argument',
  [Code.Unimplemented]: 'unimplemented',
  [Code.Internal]: 'internal',
  [Code.Unavailable]: 'unavailable',
  [Code.DataLoss]: 'internal',
  [Code.Unauthenticated]: 'unauthenticated',
};

/** Maps an error of a call to the agent: a response of the agent, a response of a proxy, or no response. */
export function fromConnect(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error;
  if (!(error instanceof ConnectError)) return fromFetch(error);
  if (error.cause instanceof HttpError) {
    return fromResponse({
      status: error.cause.status,
      headers: error.metadata,
      body: error.cause.body,
      cause: error,
    });
  }
  // Connect wraps errors that `fetch` threw; a response of the agent never has a cause.
  if (error.cause instanceof Error) return fromFetch(error.cause);
  return toSandboxError(codes[error.code], error.rawMessage, {
    cause: error,
    requestId: error.metadata.get('x-request-id') ?? undefined,
  });
}

/** The error of a request without a complete response. `fetch` hides the reason in the cause of its TypeError. */
function fromFetch(error: unknown): SandboxError {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = reason instanceof Error ? reason.message || reason.name : String(reason);
  return toSandboxError('connection_failed', `the connection failed: ${message}`, { cause: error });
}
