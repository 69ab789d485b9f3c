import { ApiError } from '@skerry/contract/error';
import type { Clock } from '../clock.ts';
import type { Limits } from '../limits.ts';
import type { QuotaExceeded, QuotaKind } from '../store/quotas/quota-rows.ts';
import { DEFAULT_PROJECT } from '../store/scope.ts';
import type { Store } from '../store/store.ts';

export interface RefusalContext {
  store: Pick<Store, 'findNextEnd'>;
  clock: Pick<Clock, 'now'>;
  limits: Pick<Limits, 'maxSandboxes'>;
}

const MAX_RETRY_SECONDS = 30;

const toRetryHeaders = (at: number, { now }: Pick<Clock, 'now'>) => ({
  'Retry-After': String(Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((at - now()) / 1000)))),
});

/**
 * 429, with the time until the next known end of a sandbox of that project; another may be killed or paused sooner. Only the default
 * project learns the limit, which tells others how much all projects have.
 */
export const limitReached = async (
  { store, clock, limits: { maxSandboxes } }: RefusalContext,
  project: string,
): Promise<ApiError> => {
  const isDefault = project === DEFAULT_PROJECT;
  const endAt = (await store.findNextEnd(isDefault ? null : project)) ?? Number.POSITIVE_INFINITY;
  return new ApiError(
    'resource_exhausted',
    isDefault
      ? `the concurrency limit of ${maxSandboxes} sandboxes is reached`
      : 'the concurrency limit of the server is reached, which all projects share',
    { headers: toRetryHeaders(endAt, clock) },
  );
};

const descriptions: Record<QuotaKind, (amount: number) => string> = {
  sandboxes: (amount) => `${amount} running ${amount === 1 ? 'sandbox' : 'sandboxes'}`,
  memoryMb: (amount) => `${amount} MiB of memory of running sandboxes`,
};

/**
 * The error for a caller whose sandbox would exceed a limit of the key that created it: 429, with the time until enough of its sandboxes
 * have ended, as far as that is known; or 403 for what the limit never allows.
 */
export const quotaExceeded = (
  { kind, keyName, project, max, used, needed, freeAt }: QuotaExceeded,
  clock: Pick<Clock, 'now'>,
): ApiError => {
  const describe = descriptions[kind];
  const key = `the key "${keyName}"${project === null ? '' : ` of the project "${project}"`}`;
  const limit = `${key} is limited to ${describe(max)}`;
  if (needed > max) return new ApiError('permission_denied', `${limit}, and this one needs ${needed}`);
  const room =
    freeAt === null
      ? ''
      : `, or wait: there is room in ${Math.max(1, Math.ceil((freeAt - clock.now()) / 1000))} s`;
  return new ApiError(
    'resource_exhausted',
    `${limit}, has ${used}, and this one needs ${needed} more: end or pause one${room}`,
    { headers: freeAt === null ? {} : toRetryHeaders(freeAt, clock) },
  );
};

/** The error for traffic to a paused sandbox whose resume would exceed a limit of its key: visitors learn nothing of the key. */
export const quotaExceededByTraffic = (): ApiError =>
  new ApiError(
    'resource_exhausted',
    'the owner of the sandbox has reached a limit: it can run when another one has ended',
  );
