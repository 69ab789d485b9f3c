import type { IncomingMessage, ServerResponse } from 'node:http';

const METHODS = 'HEAD, GET, POST, PUT, PATCH, DELETE';
const MAX_AGE_SECONDS = 7200;

/**
 * Allows pages of any origin to use the agent: the access token protects it, and browsers never send that token by
 * themselves. Answers a preflight, which carries no token, and returns true for it.
 */
export const applyCors = (req: IncomingMessage, res: ServerResponse): boolean => {
  const { origin } = req.headers;
  if (origin === undefined) return false;
  res.setHeader('Access-Control-Allow-Origin', '*');
  const isPreflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined;
  if (!isPreflight) {
    res.setHeader('Access-Control-Expose-Headers', '*');
    return false;
  }
  const wanted = req.headers['access-control-request-headers'];
  res.writeHead(204, {
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': wanted ?? '*',
    'Access-Control-Max-Age': MAX_AGE_SECONDS,
    Vary: 'Access-Control-Request-Headers',
  });
  res.end();
  return true;
};
