import { getSystemErrorMessage } from 'node:util';
import { ApiError, invalid } from '@skerry/contract/error';
import { SparseFormError } from '@skerry/contract/sparse-file';
import { isErrno } from '../../system/errno.ts';

/** An entry of an archive that is refused. The message continues "the entry … of the archive". */
export class RefusedEntryError extends Error {}

const SHOWN_LENGTH = 200;
const FULL = ['ENOSPC', 'EDQUOT'];

/** What the caller is told when an entry cannot be written. Returns anything that is not about the entry as it is. */
export const toEntryError = (name: string, error: unknown): unknown => {
  const entry = `the entry ${JSON.stringify(name.slice(0, SHOWN_LENGTH))} of the archive`;
  if (error instanceof RefusedEntryError) return invalid(`${entry} ${error.message}`, { cause: error });
  if (error instanceof SparseFormError)
    return invalid(`the archive has a file that cannot be read: ${error.message}`, { cause: error });
  if (!isErrno(error)) return error;
  const message = `${entry} cannot be written: ${getSystemErrorMessage(error.errno)}`;
  return new ApiError(FULL.includes(error.code) ? 'insufficient_storage' : 'invalid_argument', message, {
    cause: error,
  });
};
