import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { serveDocument } from './serve-document.ts';
import { serveFrontPage } from './serve-front-page.ts';

it('says what the server is, as a page with links that work to browsers and as text to others', async () => {
  const server = fastify();
  serveDocument(server);
  serveFrontPage(server);
  const page = await server.inject({
    url: '/',
    headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
  });
  expect(page.headers['content-type']).toContain('text/html');
  const targets = [...page.body.matchAll(/href="([^"]+)"/g)].map(([, target = '']) => target);
  expect(targets).toEqual(['/openapi.json', '/openapi.yaml']);
  for (const target of targets) expect((await server.inject(target)).statusCode).toBe(200);
  const text = await server.inject('/');
  expect(text.headers['content-type']).toContain('text/plain');
  expect(text.body).toMatch(/^This is a server of skerry: .*\n[^<]*\/openapi\.yaml {2}the API as YAML\n$/s);
});
