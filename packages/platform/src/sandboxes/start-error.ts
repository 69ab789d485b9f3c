import { ApiError, unimplemented } from '@skerry/contract/error';
import { isRuntimeError, RuntimeLostError } from '@skerry/runtime';
import { StartFailedError } from '../agent-commands/start-commands.ts';
import { toLostError } from '../runtime-lost.ts';

/** The error for the caller of a create about a failed step; the cause is for the log. */
export const toStartError = (step: string, cause: unknown): ApiError => {
  if (cause instanceof ApiError) return cause;
  if (cause instanceof RuntimeLostError) return toLostError(cause);
  if (cause instanceof StartFailedError)
    return new ApiError('internal', `the sandbox could not be started: ${cause.message}`, {
      cause,
      reason: 'sandbox_create_failed',
    });
  if (isRuntimeError(cause, 'exhausted')) {
    return new ApiError('unavailable', 'this host has no capacity for another sandbox now', {
      cause,
      reason: 'sandbox_capacity_unavailable',
    });
  }
  if (isRuntimeError(cause, 'damaged')) {
    return new ApiError('internal', `the snapshot is damaged and cannot be used: ${cause.message}`, {
      cause,
      reason: 'sandbox_create_failed',
    });
  }
  if (isRuntimeError(cause, 'unsupported'))
    return unimplemented(`this server cannot start the sandbox: ${cause.message}`, { cause });
  const aborted = cause instanceof Error && (cause.name === 'TimeoutError' || cause.name === 'AbortError');
  if (aborted || isRuntimeError(cause, 'unavailable')) {
    return new ApiError('timeout', `the sandbox did not start in time (step: ${step})`, {
      cause,
      reason: 'sandbox_placement_timeout',
    });
  }
  return new ApiError('internal', `the sandbox could not be started (step: ${step})`, {
    cause,
    reason: 'sandbox_create_failed',
  });
};

/** Returns the error for a paused sandbox that can continue only on its own node, which is full. */
export const nodeFull = (node: string | null): ApiError =>
  new ApiError('unavailable', `node "${node}", on which the sandbox is paused, has no place for it now`, {
    reason: 'sandbox_capacity_unavailable',
  });
