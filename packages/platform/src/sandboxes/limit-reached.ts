import { ApiError } from '@skerry/contract/error';

/** No Retry-After: only the end of another sandbox helps, and nobody knows when that is. */
export const limitReached = (maxSandboxes: number): ApiError =>
  new ApiError('resource_exhausted', `the limit of ${maxSandboxes} sandboxes at the same time is reached`);
