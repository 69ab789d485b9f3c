import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../error.ts';
import { hashToken, isSameSecret } from './secret.ts';
import { checkSignature, type FileOperation, readSignature } from './signature.ts';

/** The route that needs no access token, compared by exact method and path. */
export const OPEN_ROUTE = 'GET /health';

/** The header of the access token, in lower case. */
export const ACCESS_TOKEN = 'x-access-token';

/** The access token that a request gives, if it has one. */
export const accessTokenOf = (headers: IncomingHttpHeaders): string | undefined => {
  const value = headers[ACCESS_TOKEN];
  return Array.isArray(value) ? value[0] : value;
};

/** Routes that a signature in the query opens as well. */
const SIGNED_ROUTES: ReadonlyMap<string, FileOperation> = new Map([
  ['GET /files', 'read'],
  ['POST /files', 'write'],
]);

/**
 * What opened the route: the token of the sandbox, or that it needs none (`full`), or a signature for one file (`signature`),
 * whose bearer chooses nothing that was not signed.
 */
export type Access = 'full' | 'signature';

export interface AccessRequest {
  /** Method and path, such as `GET /files`. */
  route: string;
  /** The value of `X-Access-Token`. If it is present, a signature is ignored. */
  given: string | undefined;
  query: URLSearchParams;
}

/** How token and signature of a request are verified. The edge knows the token; the agent does not. */
export interface Verifier {
  isToken(given: string): boolean;
  /** Throws unless the query carries a valid signature for the operation. */
  checkSignature(query: URLSearchParams, operation: FileOperation): void;
}

/**
 * Throws `unauthenticated` unless the route needs no token, or the request carries the token of the sandbox or, for a file, a signature
 * made with it. Returns `signature` for a signature, otherwise `full`. Without a verifier every request is allowed.
 */
export const checkAccess = (
  { route, given, query }: AccessRequest,
  verifier: Verifier | undefined,
): Access => {
  if (verifier === undefined || route === OPEN_ROUTE) return 'full';
  const operation = SIGNED_ROUTES.get(route);
  if (given !== undefined) {
    if (!verifier.isToken(given)) throw new ApiError('unauthenticated', 'invalid access token');
  } else if (operation !== undefined) {
    verifier.checkSignature(query, operation);
    return 'signature';
  } else {
    throw new ApiError('unauthenticated', 'missing X-Access-Token header');
  }
  return 'full';
};

/** Verifies with the token itself, as the edge does. */
export const createTokenVerifier = (accessToken: string, nowMs: number): Verifier => ({
  isToken: (given) => isSameSecret(given, accessToken),
  checkSignature: (query, operation) => checkSignature(query, { operation, accessToken, nowMs }),
});

/** Verifies with the hash of the token, as the agent does for programs beside it. No signature can be verified with it. */
export const createHashVerifier = (accessTokenSha256: string): Verifier => ({
  isToken: (given) => isSameSecret(hashToken(given), accessTokenSha256),
  checkSignature: (query) => {
    readSignature(query);
    const message = 'a signature is valid at the address of the sandbox only; send X-Access-Token here';
    throw new ApiError('unauthenticated', message);
  },
});
