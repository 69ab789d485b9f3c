import type { FastifyInstance } from 'fastify';

const EXPOSED =
  'X-Next-Token, X-Total-Running, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset';
const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const MAX_AGE_SECONDS = 7200;

/**
 * Lets pages of any origin call the API and read its paging and limit headers. That gives nothing away: the key travels
 * in a header that a page must know, never in a cookie. Preflights carry no key, so they are answered before it is asked for.
 */
export const allowOrigins = (server: FastifyInstance): void => {
  server.addHook('onRequest', async (request, reply) => {
    if (request.headers.origin === undefined) return;
    reply.header('Access-Control-Allow-Origin', '*');
    reply.header('Access-Control-Expose-Headers', EXPOSED);
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined)
      return;
    // "*" would not cover Authorization, so the names are repeated as they were asked for.
    reply.header('Access-Control-Allow-Headers', request.headers['access-control-request-headers'] ?? '*');
    reply.header('Access-Control-Allow-Methods', METHODS);
    reply.header('Access-Control-Max-Age', MAX_AGE_SECONDS);
    await reply.code(204).send();
  });
};
