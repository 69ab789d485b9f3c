import { createHmac } from 'node:crypto';
import { logLevels } from '@skerry/contract/agent-control';
import { invalid, notFound, unimplemented } from '@skerry/contract/error';
import { parseBuildId } from '../ids.ts';
import type { TemplateImages } from '../images/template-images.ts';
import type { BuildLogLevel, BuildRow } from '../store/build-rows.ts';
import { type Scope, toOwnProject } from '../store/scope.ts';
import { toProjectHash } from '../templates/uploads/project-hash.ts';
import { planBuild } from './builds/plan-build.ts';
import { type NewBuildBody, parseNewBuild, toNewBuildBounds } from './new-build.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { toBuildInfo, toBuildLogEntry, toBuildRequested, toTemplate } from './template-replies.ts';
import { requireOwnTemplate, requireTemplate } from './templates/find-template.ts';
import { parseTemplateReference } from './templates/template-reference.ts';

type TemplateRoute =
  | 'POST /v3/templates'
  | 'POST /v2/templates'
  | 'POST /v2/templates/{templateID}/builds/{buildID}'
  | 'DELETE /skerry/v1/templates/{templateID}/builds/{buildID}'
  | 'GET /templates/{templateID}/builds/{buildID}/status'
  | 'GET /templates/{templateID}/builds/{buildID}/logs'
  | 'GET /templates/{templateID}/files/{hash}'
  | 'GET /templates/aliases/{alias}'
  | 'DELETE /templates/{templateID}';

const MAX_PAGE = 100;

const toLevels = (lowest: BuildLogLevel | undefined): readonly BuildLogLevel[] =>
  lowest === undefined ? logLevels : logLevels.slice(logLevels.indexOf(lowest));

/** Handlers that build, list and delete templates. */
export const createTemplateHandlers = (
  context: Pick<
    HandlerContext,
    | 'store'
    | 'templateBuilder'
    | 'snapshotter'
    | 'diskMb'
    | 'features'
    | 'buildFiles'
    | 'uploadLinks'
    | 'secret'
  > & { images: TemplateImages | undefined },
): Pick<PlatformHandlers, TemplateRoute> => {
  const { store, templateBuilder, snapshotter, diskMb, features, buildFiles, uploadLinks, secret, images } =
    context;

  const requireBuild = async (
    params: { templateID: string; buildID: string },
    scope: Scope,
  ): Promise<BuildRow> => {
    const { id } = await requireOwnTemplate({ store, scope }, params.templateID, 'path.templateID');
    const build = await store.findBuild(parseBuildId(params.buildID));
    if (build?.templateId === id) return build;
    throw notFound(`template "${params.templateID}" has no build "${params.buildID}"`);
  };

  const register = async (body: NewBuildBody, scope: Scope) => {
    const request = parseNewBuild(body, {
      ...toNewBuildBounds(diskMb, features),
      project: toOwnProject(scope),
    });
    return { request, build: await templateBuilder.request(request) };
  };

  return {
    'POST /v3/templates': async ({ body, context: { scope } }) => {
      // The document checks it, but its alternatives have no type.
      const { request, build } = await register(body as NewBuildBody, scope);
      const template = await store.findTemplate(build.templateId);
      if (template === undefined) throw notFound(`template "${request.name}" was deleted meanwhile`);
      return { status: 202, body: toBuildRequested(build, template) };
    },
    'POST /v2/templates': async ({ body, context: { scope } }) => {
      const { build } = await register(body, scope);
      const [listed] = await store.listTemplates({ scope, id: build.templateId });
      if (listed === undefined) throw notFound(`template "${body.alias}" was deleted meanwhile`);
      return { status: 202, body: toTemplate(listed) };
    },
    'POST /v2/templates/{templateID}/builds/{buildID}': async ({ params, body, context: { scope } }) => {
      const build = await requireBuild(params, scope);
      const request = createHmac('sha256', secret).update(JSON.stringify(body)).digest('hex');
      // A caller that lost the answer repeats its call, perhaps when the build has ended.
      if (build.request !== request)
        await templateBuilder.start(
          build,
          await planBuild(body, {
            ...{ store, scope, images, buildFiles },
            ...{ project: build.project, isolation: build.isolation },
          }),
          request,
        );
      return { status: 202, body: {} };
    },
    'DELETE /skerry/v1/templates/{templateID}/builds/{buildID}': async ({ params, context: { scope } }) => {
      await templateBuilder.cancel(await requireBuild(params, scope));
      return { status: 204 };
    },
    'GET /templates/{templateID}/builds/{buildID}/status': async ({ params, query, context: { scope } }) => {
      const { logsOffset = 0, limit = MAX_PAGE, level } = query;
      const build = await requireBuild(params, scope);
      const levels = toLevels(level);
      const entries = await store.listBuildLog(build.id, { levels, offset: logsOffset, limit });
      return { status: 200, body: toBuildInfo(build, entries) };
    },
    'GET /templates/{templateID}/builds/{buildID}/logs': async ({ params, query, context: { scope } }) => {
      const { cursor, direction = 'backward', limit = MAX_PAGE, level, source } = query;
      if (source === 'temporary')
        throw invalid('query.source: this server keeps no temporary entries, all are "persistent"');
      const { id } = await requireBuild(params, scope);
      const order = direction === 'forward' ? 'asc' : 'desc';
      const entries = await store.pageBuildLog(id, { levels: toLevels(level), order, cursor, limit });
      return { status: 200, body: { logs: entries.map(toBuildLogEntry) } };
    },
    'GET /templates/{templateID}/files/{hash}': async ({ params, context: { origin, scope } }) => {
      const { templateID } = params;
      const template = await requireOwnTemplate({ store, scope }, templateID, 'path.templateID');
      if (template.kind !== 'build') throw notFound(`template "${templateID}" was not found`);
      if (buildFiles === undefined) throw unimplemented('the runtime of this server cannot build templates');
      const hash = toProjectHash(template.project, params.hash);
      const url = `${origin}${uploadLinks.toPath({ templateId: template.id, hash })}`;
      return { status: 201, body: { present: await buildFiles.has(hash), url, headers: {} } };
    },
    'GET /templates/aliases/{alias}': async ({ params, context: { scope } }) => {
      const template = await requireTemplate({ store, scope }, params.alias, 'path.alias');
      return { status: 200, body: { templateID: template.id, public: template.public } };
    },
    'DELETE /templates/{templateID}': async ({ params, context: { scope } }) => {
      const text = params.templateID;
      const template = await requireOwnTemplate({ store, scope }, text, 'path.templateID');
      if (template.kind === 'image') {
        throw invalid(`template "${text}" belongs to this installation and cannot be deleted`);
      }
      const { tag, buildId } = parseTemplateReference('path.templateID', text);
      const part = {
        templateId: template.id,
        ...(tag !== undefined && { tag }),
        ...(buildId !== undefined && { buildId }),
      };
      await (template.kind === 'build' ? templateBuilder.delete(part) : snapshotter.delete(part));
      return { status: 204 };
    },
  };
};
