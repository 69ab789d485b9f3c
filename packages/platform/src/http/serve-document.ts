import type { FastifyInstance } from 'fastify';

/**
 * Serves `specs/openapi.yaml` at `/openapi.json` and `/openapi.yaml` without a key: a client for this server can be generated from it.
 * The document is loaded at the first such request, so that a server's start does not read it.
 */
export const serveDocument = (server: FastifyInstance): void => {
  let text: Promise<string> | undefined;
  for (const format of ['json', 'yaml']) {
    server.get(`/openapi.${format}`, async (_request, reply) => {
      text ??= readText();
      // Each JSON text is YAML too.
      return reply.type(`application/${format}`).send(await text);
    });
  }
};

const readText = async (): Promise<string> => {
  const { default: document } = await import('../gen/openapi.json', { with: { type: 'json' } });
  return `${JSON.stringify(document, null, 2)}\n`;
};
