import type { FastifyInstance } from 'fastify';

const EXPOSED_HEADERS = [
  'X-Request-Id',
  'X-Next-Token',
  'X-Total-Running',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
].join(', ');

const PREFLIGHT_SECONDS = 7200;

/**
 * Allows pages of any origin to call the server. That exposes nothing: a caller needs the API key, which browsers
 * never add by themselves. A preflight is answered before the key is checked, because browsers send none with it.
 */
export const allowAnyOrigin = (server: FastifyInstance): void => {
  server.addHook('onRequest', async (request, reply) => {
    if (request.headers.origin === undefined) return;
    reply.headers({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': EXPOSED_HEADERS });
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined)
      return;
    const requested = request.headers['access-control-request-headers'];
    if (requested !== undefined) reply.header('Access-Control-Allow-Headers', requested);
    return reply
      .code(204)
      .headers({
        'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
      })
      .send();
  });
};
