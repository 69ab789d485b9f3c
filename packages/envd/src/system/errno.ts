import { getSystemErrorMessage } from 'node:util';
import { ApiError, type ErrorCode } from '@skerry/contract/error';

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  ENAMETOOLONG: 'invalid_argument',
  ELOOP: 'invalid_argument',
  ENOSPC: 'insufficient_storage',
  EDQUOT: 'insufficient_storage',
  EMFILE: 'resource_exhausted',
  ENFILE: 'resource_exhausted',
  ENOMEM: 'resource_exhausted',
};

/** Whether a system call failed. zlib's errors look alike, but their codes start with `Z_`. */
export const isErrno = (error: unknown): error is NodeJS.ErrnoException & { code: string; errno: number } =>
  error instanceof Error &&
  'errno' in error &&
  'code' in error &&
  typeof error.code === 'string' &&
  error.code.startsWith('E');

/**
 * Turns the error of a failed system call on a caller's path into an `ApiError` with the kernel's own words, and returns
 * anything else as it is. Errors without a meaning for callers become `internal`, still with those words: the path and the
 * file system are the caller's own.
 */
export const fromErrno = (error: unknown): unknown => {
  if (!isErrno(error)) return error;
  const path = error.path === undefined ? '' : ` "${error.path}"`;
  const message = `${error.syscall ?? 'call'}${path}: ${getSystemErrorMessage(error.errno)}`;
  return new ApiError(CODES[error.code] ?? 'internal', message, { cause: error });
};
