export type BlobErrorCode =
  /** There is no such blob, or no such folder or bucket. */
  | 'not_found'
  /** The key, the prefix or the range cannot be used. */
  | 'invalid'
  /** The body to store has failed, or had another size than stated. */
  | 'incomplete'
  /** This store does not support it; `BlobStore.features` reports that beforehand. */
  | 'unsupported'
  /** The store refuses these credentials, or this user. */
  | 'denied'
  /** The store has no room for it. */
  | 'exhausted'
  /** The store cannot be reached, or is busy or broken: a later attempt may succeed. */
  | 'unavailable'
  /** The signal aborted. */
  | 'aborted'
  | 'internal';

/** The error of every store. The message is for the operator's log: it has keys of blobs, and no credentials. */
export class BlobError extends Error {
  readonly code: BlobErrorCode;

  constructor(code: BlobErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'BlobError';
    this.code = code;
  }
}

/** Whether `error` is a BlobError, of that code when one is given. */
export const isBlobError = (error: unknown, code?: BlobErrorCode): error is BlobError =>
  error instanceof BlobError && (code === undefined || error.code === code);

/** What a failed step means in the terms of one technology; undefined where it does not know the error. */
export type ToCode = (error: unknown) => BlobErrorCode | undefined;

/**
 * Makes the failure of an aborted step `aborted`, keeps a BlobError as it is, and gives any other the code of the
 * technology, or else `internal`. The original failure is the cause.
 */
export const toBlobError = (
  error: unknown,
  { step, toCode, signal }: { step: string; toCode: ToCode; signal?: AbortSignal | undefined },
): BlobError => {
  if (signal?.aborted) return new BlobError('aborted', `${step} was aborted`, { cause: error });
  if (isBlobError(error)) return error;
  return new BlobError(toCode(error) ?? 'internal', `${step} failed`, { cause: error });
};
