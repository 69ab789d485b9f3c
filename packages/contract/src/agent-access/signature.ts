import { ApiError, invalid } from '../error.ts';
import { isSameSecret } from './secret.ts';

export type FileOperation = 'read' | 'write';

export interface SignatureInput {
  /** Raw query values after query decoding, empty when absent; never the resolved ones. */
  path: string;
  username: string;
  operation: FileOperation;
  accessToken: string;
  /** Unix seconds, as the digits of the query. */
  expiration?: string | undefined;
}

/** The signature that allows the bearer of a URL one operation on one path. */
export const createSignature = (input: SignatureInput): string => {
  const { path, operation, username, accessToken, expiration } = input;
  const { createHash } = process.getBuiltinModule('node:crypto');
  const parts = [path, operation, username, accessToken];
  if (expiration !== undefined) parts.push(expiration);
  return `v1_${createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '')}`;
};

/** The parameters that a signature covers, and itself: readers of queries do not agree on which of two counts. */
const SIGNED_PARAMETERS = ['path', 'username', 'signature', 'signature_expiration'];

/**
 * The signature of a query. Throws `unauthenticated` when it has none, `invalid_argument` for an expiration that is no integer in its
 * shortest form, and for a parameter of the signature that stands twice.
 */
export const readSignature = (query: URLSearchParams): { signature: string; expiration?: string } => {
  for (const name of SIGNED_PARAMETERS)
    if (query.getAll(name).length > 1) throw invalid(`${name} may stand once in a signed URL`);
  const signature = query.get('signature') ?? '';
  const expiration = query.get('signature_expiration') ?? undefined;
  if (expiration !== undefined && !/^(?:0|-?[1-9]\d{0,14})$/.test(expiration)) {
    throw invalid('signature_expiration must be a Unix time in seconds');
  }
  if (signature === '') throw new ApiError('unauthenticated', 'missing signature query parameter');
  return { signature, ...(expiration !== undefined && { expiration }) };
};

/** Throws `unauthenticated` unless the signature of the query is valid and not expired, `invalid_argument` for a bad expiration. */
export const checkSignature = (
  query: URLSearchParams,
  { operation, accessToken, nowMs }: { operation: FileOperation; accessToken: string; nowMs: number },
): void => {
  const { signature, expiration } = readSignature(query);
  const expected = createSignature({
    path: query.get('path') ?? '',
    username: query.get('username') ?? '',
    operation,
    accessToken,
    expiration,
  });
  if (!isSameSecret(signature, expected)) throw new ApiError('unauthenticated', 'invalid signature');
  if (expiration !== undefined && Number(expiration) < Math.floor(nowMs / 1000)) {
    throw new ApiError('unauthenticated', 'signature is already expired');
  }
};
