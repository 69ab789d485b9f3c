import type { IncomingMessage } from 'node:http';
import {
  ACCESS_TOKEN,
  accessTokenOf,
  checkAccess,
  createTokenVerifier,
  EDGE_ACCESS,
  OPEN_ROUTE,
  parseRequestUrl,
  toEdgeAccess,
  withoutSignature,
} from '@skerry/contract/agent-access';
import { type AgentKeys, TRAFFIC_TOKEN } from '@skerry/contract/directory';
import { ApiError } from '@skerry/contract/error';
import { REQUEST_ID } from '@skerry/contract/request-id';
import { isPreflight } from './error-page.ts';

/**
 * Headers of a client that do not reach the agent as they are: it never sees the token, a signed URL that led to the request, or a
 * key that a client sends to the wrong server, and only the edge speaks for the edge.
 */
export const notForAgent: ReadonlySet<string> = new Set([
  ACCESS_TOKEN,
  EDGE_ACCESS,
  TRAFFIC_TOKEN,
  REQUEST_ID,
  'referer',
  'x-api-key',
  // The server of the edge has met it by now; the agent would refuse an unknown one with 417.
  'expect',
]);

/** What the edge tells the agent about a request that it has checked. */
export interface CheckedRequest {
  /** The path and query to forward. */
  readonly url: string;
  /** The value of `EDGE_ACCESS`. Absent for a preflight, which the agent answers to everyone. */
  readonly edgeAccess?: string;
}

/**
 * Checks token or signature of a request to the agent. A signature is left out of what is forwarded, whatever the method and the
 * path are: the memory of a copy would keep it, and it opens the file of the source. The query is forwarded as the edge has read
 * it, so that the agent reads the parameters that were checked.
 *
 * Throws `unauthenticated`, or `invalid_argument` for a malformed expiration.
 */
export const checkAgentRequest = (request: IncomingMessage, keys: AgentKeys): CheckedRequest => {
  const { method, headers } = request;
  const asked = parseRequestUrl(request.url ?? '/');
  const url = withoutSignature(asked);
  if (isPreflight(request)) return { url };
  const { accessToken, edgeNonce } = keys;
  const verifier = accessToken === undefined ? undefined : createTokenVerifier(accessToken, Date.now());
  const access = checkAccess(
    { route: `${method} ${asked.path}`, given: accessTokenOf(headers), query: asked.query },
    verifier,
  );
  return { url, edgeAccess: toEdgeAccess(access, edgeNonce) };
};

/**
 * Checks that a request to the agent of a paused sandbox may resume it: it needs the token, or a signature that opens its file, also for
 * the route that a running agent answers to everyone. Throws as `checkAgentRequest`.
 */
export const requireWakeAccess = ({ method, headers, url }: IncomingMessage, accessToken: string): void => {
  const { path, query } = parseRequestUrl(url ?? '/');
  const route = `${method} ${path}`;
  const given = accessTokenOf(headers);
  const verifier = createTokenVerifier(accessToken, Date.now());
  if (route === OPEN_ROUTE && (given === undefined || !verifier.isToken(given)))
    throw new ApiError(
      'unauthenticated',
      `${given === undefined ? 'missing' : 'wrong'} X-Access-Token header`,
    );
  checkAccess({ route, given, query }, verifier);
};
