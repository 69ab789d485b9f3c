import { isBlobError } from '@skerry/blobs';
import { RuntimeError } from '../../../../error.ts';

/**
 * The error of the runtime for a failure of a blob store: `not_found`, and otherwise `unavailable`, as a later attempt
 * may succeed. Any other error stays as it is.
 */
export const toStoreFailure = (error: unknown, step: string): unknown => {
  if (!isBlobError(error)) return error;
  const code = error.code === 'not_found' ? 'not_found' : 'unavailable';
  return new RuntimeError(code, `${step}: ${error.message}`, { cause: error });
};
