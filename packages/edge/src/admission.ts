import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, invalid } from '@skerry/contract/error';
import { sendJson, sendText } from './error-page.ts';
import { type HostRules, parseTarget } from './host.ts';
import { findInternalPath } from './internal-route.ts';
import type { Target } from './target.ts';

/** The target of a valid request; undefined when the request has been refused. */
export const admit = (
  request: IncomingMessage,
  response: ServerResponse,
  rules: HostRules,
): Target | undefined => {
  try {
    const target = parseTarget(request.headers, rules);
    if (target === undefined) throw invalid('the host name does not name a sandbox');
    refuseAmbiguous(request);
    const path = findInternalPath(target, request.url ?? '');
    if (path === undefined) return target;
    sendJson(response, 404, { message: 'no such route', path, code: 404 });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    sendText(response, error.status, error.message);
  }
  return undefined;
};

/**
 * Refuses a request that the server inside could parse differently than the edge did. Node's parser has already
 * refused two lengths and a length beside chunks.
 */
const refuseAmbiguous = ({ url, rawHeaders, headers }: IncomingMessage): void => {
  // The absolute form names a host of its own.
  if (url !== '*' && !url?.startsWith('/')) throw invalid('request target must be a path');
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length !== 1) throw invalid('request must have one Host header');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw invalid('transfer encoding must be chunked');
};
