import type { IncomingMessage } from 'node:http';
import {
  type Access,
  accessTokenOf,
  checkAccess,
  createHashVerifier,
  EDGE_ACCESS,
  OPEN_ROUTE,
  parseEdgeAccess,
} from '@skerry/contract/agent-access';
import { ApiError } from '@skerry/contract/error';
import type { Settings } from '../settings.ts';

/**
 * Throws `unauthenticated` unless the edge has checked the request, or it carries the token of the sandbox, as one of a
 * program inside does. Returns what opened the route.
 */
export const checkAgentAccess = (
  { headers }: Pick<IncomingMessage, 'headers'>,
  { route, query }: { route: string; query: URLSearchParams },
  { accessTokenSha256, edgeNonce }: Pick<Settings, 'accessTokenSha256' | 'edgeNonce'>,
): Access => {
  const checked = headers[EDGE_ACCESS];
  if (checked === undefined || route === OPEN_ROUTE) {
    const verifier = accessTokenSha256 === undefined ? undefined : createHashVerifier(accessTokenSha256);
    return checkAccess({ route, query, given: accessTokenOf(headers) }, verifier);
  }
  const access = parseEdgeAccess(checked, edgeNonce);
  if (access === undefined)
    throw new ApiError('unauthenticated', 'the edge of another run sent this request');
  return access;
};
