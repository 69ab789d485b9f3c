import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { receiveBody } from '../../http/receive-body.ts';
import type { ArchiveStore } from './archive-store.ts';
import type { UploadLinks } from './upload-links.ts';

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
    buildFiles,
    links,
    onLinked,
  }: { buildFiles: ArchiveStore; links: UploadLinks; onLinked: (request: IncomingMessage) => void },
): void => {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.put<Route>('/skerry/v1/templates/:templateId/files/:hash', {
      onRequest: async ({ params, query, raw }) => {
        links.check(params, query);
        onLinked(raw);
      },
      handler: async (request, reply) => {
        await receiveBody(request, 'a tar archive', (body, options) =>
          buildFiles.write(request.params.hash, body, options),
        );
        return reply.code(204).send();
      },
    });
  });
};
