import { ApiError, unimplemented } from '@skerry/contract/error';
import { isRuntimeError, RuntimeLostError } from '@skerry/runtime';
import { StartFailedError } from '../agent-commands/start-commands.ts';
import type { Clock } from '../clock.ts';
import type { Limits } from '../limits.ts';
import { toLostError } from '../runtime-lost.ts';
import { DEFAULT_PROJECT } from '../store/scope.ts';
import type { Store } from '../store/store.ts';

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

const MAX_RETRY_SECONDS = 30;

/**
 * 429, with the time until the next known end of a sandbox of that project; another may be killed or paused sooner. Only the default
 * project learns the limit, which tells others how much all projects have.
 */
export const limitReached = async (
  {
    store,
    clock,
    limits: { maxSandboxes },
  }: {
    store: Pick<Store, 'findNextEnd'>;
    clock: Pick<Clock, 'now'>;
    limits: Pick<Limits, 'maxSandboxes'>;
  },
  project: string,
): Promise<ApiError> => {
  const isDefault = project === DEFAULT_PROJECT;
  const endAt = (await store.findNextEnd(isDefault ? null : project)) ?? Number.POSITIVE_INFINITY;
  const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((endAt - clock.now()) / 1000)));
  return new ApiError(
    'resource_exhausted',
    isDefault
      ? `the concurrency limit of ${maxSandboxes} sandboxes is reached`
      : 'the concurrency limit of the server is reached, which all projects share',
    {
      headers: { 'Retry-After': String(seconds) },
    },
  );
};
