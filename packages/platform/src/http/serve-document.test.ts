import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { documentPaths } from './document.ts';
import { serveDocument } from './serve-document.ts';

it('serves the document as JSON and as YAML, with every operation and its texts, to callers without a key', async () => {
  const server = fastify();
  serveDocument(server);
  const json = await server.inject('/openapi.json');
  const yaml = await server.inject('/openapi.yaml');
  expect(json.headers['content-type']).toContain('application/json');
  expect(yaml.headers['content-type']).toContain('application/yaml');
  const document = json.json();
  expect(Object.keys(document.paths)).toEqual(Object.keys(documentPaths));
  expect(document.info.description).toContain('X-Skerry-Strict');
  expect(JSON.parse(yaml.body)).toEqual(document);
});
