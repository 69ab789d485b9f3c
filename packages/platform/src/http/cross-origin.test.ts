import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { allowAnyOrigin } from './cross-origin.ts';

const createServer = () => {
  const server = fastify();
  allowAnyOrigin(server);
  server.post('/things', async (_request, reply) => reply.code(401).send({ code: 401 }));
  return server;
};

describe('allowAnyOrigin', () => {
  it('answers a preflight without a key, for known and unknown paths', async () => {
    const server = createServer();
    for (const url of ['/things', '/nowhere']) {
      const reply = await server.inject({
        method: 'OPTIONS',
        url,
        headers: {
          origin: 'https://page.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,x-api-key',
        },
      });
      expect(reply.statusCode).toBe(204);
      expect(reply.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-headers': 'content-type,x-api-key',
        'access-control-max-age': '7200',
      });
      expect(reply.headers['access-control-allow-methods']).toContain('DELETE');
    }
  });

  it('allows a page to read errors and the paging headers', async () => {
    const reply = await createServer().inject({
      method: 'POST',
      url: '/things',
      headers: { origin: 'https://page.example' },
    });
    expect(reply.statusCode).toBe(401);
    expect(reply.headers['access-control-allow-origin']).toBe('*');
    expect(reply.headers['access-control-expose-headers']).toContain('X-Next-Token');
  });

  it('adds no header for callers that are not browsers', async () => {
    const reply = await createServer().inject({ method: 'POST', url: '/things' });
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
