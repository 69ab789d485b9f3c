import { randomBytes } from 'node:crypto';
import { ApiError, invalid, notFound, unimplemented } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readOperation } from '../../http/document.ts';
import { receiveBody } from '../../http/receive-body.ts';
import type { CallHead } from '../../http/serve.ts';
import { createValidators } from '../../http/validate.ts';
import { type TemplateImages, UnusableImageError } from '../../images/template-images.ts';
import { emptyRunConfig } from '../../store/build-rows.ts';
import { type Scope, toOwnProject } from '../../store/scope.ts';
import { noStartCommand } from '../../templates/build-plan.ts';
import { createToRootfs } from '../../templates/to-rootfs.ts';
import type { ArchiveStore } from '../../templates/uploads/archive-store.ts';
import { type NewBuildBody, parseNewBuild, toNewBuildBounds } from '../new-build.ts';
import type { HandlerContext } from '../platform-handlers.ts';
import { toBuildRequested } from '../template-replies.ts';
import { requireTemplateState } from './find-template.ts';
import { DEFAULT_TAG, parseTemplateReference } from './template-reference.ts';

export interface ImageServices
  extends Pick<HandlerContext, 'store' | 'templateBuilder' | 'diskMb' | 'features' | 'newWork'> {
  /** Archives that are uploaded; undefined where templates cannot be built. */
  imports: ArchiveStore | undefined;
  images: { base: { rootfs: string }; templates?: TemplateImages | undefined };
  /** Rejects for a caller that may not make the operation. */
  authorise(request: CallHead, operation: string): Promise<{ scope: Scope }>;
}

/** Serves the operations on images, whose bodies are archives. */
export const serveImages = (server: FastifyInstance, services: ImageServices): void => {
  const validators = createValidators();
  const checkLoad = validators.forRequest(readOperation('POST /skerry/v1/images'));
  const scopes = new WeakMap<FastifyRequest, Scope>();
  const authorise = (operation: string) => async (request: FastifyRequest) => {
    scopes.set(request, (await services.authorise(request, operation)).scope);
  };
  const scopeOf = (request: FastifyRequest): Scope => scopes.get(request) as Scope;

  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.post('/skerry/v1/images', {
      onRequest: authorise('POST /skerry/v1/images'),
      handler: async (request, reply) => {
        services.newWork.require();
        const parts = { params: {}, query: request.query as Record<string, unknown>, headers: {} };
        const { query } = checkLoad({ ...parts, body: undefined });
        const load = createLoad(services, query as LoadQuery, toOwnProject(scopeOf(request)));
        return reply.code(202).send(await load(request));
      },
    });
    scope.get<{ Params: { templateID: string } }>('/skerry/v1/images/:templateID', {
      onRequest: authorise('GET /skerry/v1/images/{templateID}'),
      handler: async (request, reply) => {
        const left = new AbortController();
        reply.raw.once('close', () => left.abort(new ApiError('timeout', 'the caller disconnected')));
        const { archive, sizeBytes } = await save(services, request.params.templateID, {
          scope: scopeOf(request),
          signal: left.signal,
        });
        return reply
          .headers({ 'content-type': 'application/x-tar', 'content-length': sizeBytes })
          .send(archive);
      },
    });
  });
};

type LoadQuery = NewBuildBody & { name: string; image?: string };

/** Receives an archive, and begins a build of the image in it. */
const createLoad = (
  { store, templateBuilder, diskMb, features, imports }: ImageServices,
  query: LoadQuery,
  project: string,
) => {
  if (imports === undefined) throw unimplemented('the runtime of this server cannot build templates');
  const request = parseNewBuild(query, { ...toNewBuildBounds(diskMb, features), project }, 'query');
  return async (
    upload: Parameters<typeof receiveBody>[0],
  ): Promise<components['schemas']['BuildRequested']> => {
    const known = await store.findNamedTemplate(request);
    // Before the archive is read, which may take long.
    if (known !== undefined && known.kind !== 'build')
      throw invalid(`query.name: "${request.name}" is the name of a template that is not built`);
    const hash = randomBytes(32).toString('hex');
    const hold = imports.hold([hash]);
    const release = (): void => {
      hold();
      // A failure leaves the archive, which the collection after the next build removes.
      imports.collect().catch(() => undefined);
    };
    try {
      await receiveBody(upload, 'an archive of an image', (body, options) =>
        imports.write(hash, body, options),
      );
      const build = await templateBuilder.request(request);
      const template = await store.findTemplate(build.templateId);
      if (template === undefined) throw notFound(`template "${request.name}" was deleted meanwhile`);
      const source = { kind: 'archive' as const, path: imports.toPath(hash), image: query.image, release };
      const none = { steps: [], stepsBefore: 0, cacheableSteps: 0, forcedStep: undefined };
      const stage = { source, ...none, usesConfig: false };
      await templateBuilder.start(build, { ...stage, stages: [], ...noStartCommand });
      return toBuildRequested(build, template);
    } catch (error) {
      release();
      throw error;
    }
  };
};

const save = async (
  { store, images }: ImageServices,
  text: string,
  { scope, signal }: { scope: Scope; signal: AbortSignal },
): ReturnType<NonNullable<TemplateImages['save']>> => {
  const { template, snapshot, build } = await requireTemplateState({ store, scope }, text, 'path.templateID');
  if (snapshot !== null)
    throw invalid(`path.templateID: "${text}" is a snapshot, which cannot be saved as an image`);
  if (images.templates?.save === undefined)
    throw unimplemented('this server cannot save images on its host: that needs root');
  const { tag = DEFAULT_TAG } = parseTemplateReference('path.templateID', text);
  const { id, name } = template;
  const image = createToRootfs(images)(build);
  // Values of steps may be secrets, and sandboxes do not have them.
  const config = { ...(build?.runConfig ?? emptyRunConfig), env: build?.env ?? {} };
  try {
    return await images.templates.save({ image, config, name: name ?? id, tag, signal });
  } catch (error) {
    if (!(error instanceof UnusableImageError)) throw error;
    throw new ApiError('insufficient_storage', error.message, { cause: error });
  }
};
