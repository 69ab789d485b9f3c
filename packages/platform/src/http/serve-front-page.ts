import type { FastifyInstance } from 'fastify';

const lines = [
  'This is a server of skerry: isolated Linux sandboxes that programs create, use and end.',
  'A call of the API has the key that "skerry up" has printed in the header X-API-Key.',
];
const links = { '/openapi.json': 'the API as JSON', '/openapi.yaml': 'the API as YAML' };

/** Says at `/`, without a key, what answers here and where the document of the API is: as a page to browsers, as text to others. */
export const serveFrontPage = (server: FastifyInstance): void => {
  server.get('/', async (request, reply) => {
    const wantsPage = /\btext\/html\b/.test(request.headers.accept ?? '');
    reply.header('Vary', 'Accept').header('Cache-Control', 'no-store');
    return reply.type(wantsPage ? 'text/html' : 'text/plain').send(wantsPage ? page : text);
  });
};

const text = `${lines.join('\n')}\n\n${Object.entries(links)
  .map(([path, title]) => `${path}  ${title}\n`)
  .join('')}`;

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>skerry</title>
<style>body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif }</style>
<h1>skerry</h1>
${lines.map((line) => `<p>${line}</p>\n`).join('')}<ul>
${Object.entries(links)
  .map(([path, title]) => `<li><a href="${path}">${title}</a></li>\n`)
  .join('')}</ul>
`;
