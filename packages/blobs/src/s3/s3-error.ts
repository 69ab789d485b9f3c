import type { BlobErrorCode } from '../blob-error.ts';

/** Codes by the name of the error, from services that report what the status does not say. */
const byName: Record<string, BlobErrorCode> = {
  CredentialsProviderError: 'denied',
  QuotaExceeded: 'exhausted',
  XMinioStorageFull: 'exhausted',
  RequestTimeout: 'unavailable',
  SlowDown: 'unavailable',
};

const byStatus: Record<number, BlobErrorCode> = {
  301: 'denied',
  401: 'denied',
  403: 'denied',
  404: 'not_found',
  408: 'unavailable',
  416: 'invalid',
  429: 'unavailable',
  507: 'exhausted',
};

interface S3Failure extends Error {
  $metadata?: { httpStatusCode?: number };
  code?: string;
}

/** The code for a failure of a request to S3; undefined for one that is not of the service or the network. */
export const toS3Code = (error: unknown): BlobErrorCode | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { name, code, $metadata } = error as S3Failure;
  const named = byName[name];
  if (named) return named;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return byStatus[status] ?? (status >= 500 ? 'unavailable' : undefined);
  // The network failed: no answer has come.
  if (name === 'TimeoutError' || code !== undefined) return 'unavailable';
  return undefined;
};
