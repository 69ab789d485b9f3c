import type { IncomingMessage } from 'node:http';
import { invalid } from '@skerry/contract/error';
import type { FastifyInstance } from 'fastify';
import type { ContextStore } from './context-store.ts';
import type { UploadLinks } from './upload-links.ts';

/** As long as clients wait. */
const MAX_UPLOAD_MS = 60 * 60_000;
/** How long the rest of a refused body is read, so that the client gets the answer. */
const MAX_REST_MS = 1_000;

interface Route {
  Params: { templateId: string; hash: string };
  Querystring: { expires?: unknown; signature?: unknown };
}

/**
 * Serves the links of `GET /templates/{templateID}/files/{hash}`. The body goes to the store as it arrives, whatever its
 * headers call it.
 */
export const serveUploads = (
  server: FastifyInstance,
  {
    contexts,
    links,
    onLinked,
  }: { contexts: ContextStore; links: UploadLinks; onLinked: (request: IncomingMessage) => void },
): void => {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.put<Route>('/skerry/v1/templates/:templateId/files/:hash', {
      onRequest: async ({ params, query, raw }) => {
        const { expires = '', signature = '' } = query;
        links.check(params, { expires: String(expires), signature: String(signature) });
        onLinked(raw);
      },
      handler: async ({ params, headers, raw, body }, reply) => {
        if (body === undefined || body === null) throw invalid('the body must be a tar archive');
        const declared = headers['content-length'];
        const late = setTimeout(() => raw.destroy(), MAX_UPLOAD_MS);
        try {
          await contexts.write(params.hash, raw.iterator({ destroyOnReturn: false }), {
            ...(declared !== undefined && { declaredBytes: Number(declared) }),
          });
        } finally {
          clearTimeout(late);
          // An unread rest of the body would stay in the connection and be parsed as the next request.
          raw.resume();
          if (!raw.complete) setTimeout(() => raw.destroy(), MAX_REST_MS).unref();
        }
        return reply.code(204).send();
      },
    });
  });
};
