import { ApiError } from '@skerry/contract/error';
import { isSameSecret } from './auth.ts';
import { checkSignature, type FileOperation } from './signature.ts';

/** Needs no access token: exact method and path, nothing derived from them. */
const OPEN_ROUTE = 'GET /health';

/** Routes that a signature in the query opens as well. */
const SIGNED_ROUTES: ReadonlyMap<string, FileOperation> = new Map([
  ['GET /files', 'read'],
  ['POST /files', 'write'],
]);

export interface AccessRequest {
  /** Method and path, such as `GET /files`. */
  route: string;
  /** The token of the sandbox; without one everybody may do everything. */
  accessToken: string | undefined;
  /** The value of `X-Access-Token`. When there is one, it alone decides. */
  given: string | undefined;
  query: URLSearchParams;
  nowMs: number;
}

/** Throws `unauthenticated` unless the request carries the token of the sandbox or, for a file, a signature made with it. */
export const checkAccess = ({ route, accessToken, given, query, nowMs }: AccessRequest): void => {
  if (accessToken === undefined || route === OPEN_ROUTE) return;
  const operation = SIGNED_ROUTES.get(route);
  if (given !== undefined) {
    if (!isSameSecret(given, accessToken)) throw new ApiError('unauthenticated', 'invalid access token');
  } else if (operation !== undefined) {
    checkSignature(query, { operation, accessToken, nowMs });
  } else {
    throw new ApiError('unauthenticated', 'missing X-Access-Token header');
  }
};
