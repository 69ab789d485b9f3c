import { ApiError } from '@skerry/contract/error';
import { DatabaseError } from 'pg';

const RETRY_SECONDS = '1';

/** 503, with the time after which the caller may try again. */
export const toUnavailable = (message: string, cause?: unknown): ApiError =>
  new ApiError('unavailable', message, { cause, headers: { 'Retry-After': RETRY_SECONDS } });

/** Messages by code or class of https://www.postgresql.org/docs/15/errcodes-appendix.html */
const temporary: Record<string, string> = {
  '08': 'the connection to the database was lost',
  '28': 'the database refuses this server',
  '3D': 'the database does not exist',
  '25P03': 'the database took too long',
  '25006': 'the database is read-only',
  '40': 'the database has undone a concurrent change',
  '53100': 'the disk of the database is full',
  '53': 'the database has no resources left',
  '55P03': 'the database is busy',
  '57014': 'the database took too long',
  '57': 'the database is stopping or starting',
  '58': 'the database cannot use its disk',
};

/**
 * Converts an error of a connection or query: `unavailable` when the database cannot serve now. Every other error stays, such
 * as a violated constraint.
 */
export const toStoreError = (error: unknown): unknown => {
  if (error instanceof ApiError || error instanceof TypeError || error instanceof RangeError) return error;
  // Only the database itself makes a DatabaseError: everything else is a failure of the connection.
  if (!(error instanceof DatabaseError)) return toUnavailable('the database cannot be reached', error);
  const message = temporary[error.code ?? ''] ?? temporary[error.code?.slice(0, 2) ?? ''];
  return message === undefined ? error : toUnavailable(message, error);
};
