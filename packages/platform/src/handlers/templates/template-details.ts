import { notFound } from '@skerry/contract/error';
import type { Scope } from '../../store/scope.ts';
import { parseCursor, toCursor } from '../cursor.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';
import { toFullNames, toTemplateWithBuilds } from '../template-replies.ts';
import { requireOwnTemplate, requireTemplate } from './find-template.ts';

type DetailRoute =
  | 'GET /templates/{templateID}'
  | 'PATCH /templates/{templateID}'
  | 'PATCH /v2/templates/{templateID}';

/** Handlers that show and change one template. */
export const createTemplateDetailHandlers = ({
  store,
}: Pick<HandlerContext, 'store'>): Pick<PlatformHandlers, DetailRoute> => {
  const update = async (params: { templateID: string }, body: { public?: boolean }, scope: Scope) => {
    const template = await requireOwnTemplate({ store, scope }, params.templateID, 'path.templateID');
    if (body.public !== undefined && !(await store.setPublic(template.id, body.public)))
      throw notFound(`template "${params.templateID}" was deleted meanwhile`);
    return template;
  };

  return {
    'GET /templates/{templateID}': async ({ params, query, context: { scope } }) => {
      const { limit = 100, nextToken } = query;
      const cursor = nextToken === undefined ? undefined : parseCursor(nextToken, 'desc');
      const { id } = await requireTemplate({ store, scope }, params.templateID, 'path.templateID');
      const [listed] = await store.listTemplates({ id, scope });
      if (listed === undefined) throw notFound(`template "${params.templateID}" was deleted meanwhile`);
      const after = cursor && { createdAt: cursor.startedAt, id: cursor.id };
      // One more than the page shows whether there is a next page.
      const page = { limit: limit + 1, ...(after && { after }) };
      const isSnapshot = listed.template.kind === 'snapshot';
      const rows = isSnapshot
        ? (await store.listSnapshots({ templateId: id, ...page })).map(toReadyBuild)
        : await store.listBuilds(id, page);
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      return {
        status: 200,
        headers: last ? { 'X-Next-Token': toCursor({ startedAt: last.createdAt, id: last.id }, 'desc') } : {},
        body: toTemplateWithBuilds(listed, shown),
      };
    },
    'PATCH /v2/templates/{templateID}': async ({ params, body, context: { scope } }) => {
      const template = await update(params, body, scope);
      return { status: 200, body: { names: toFullNames(template) } };
    },
    'PATCH /templates/{templateID}': async ({ params, body, context: { scope } }) => {
      await update(params, body, scope);
      return { status: 200, body: {} };
    },
  };
};

const toReadyBuild = <T extends { createdAt: number }>(snapshot: T) => ({
  ...snapshot,
  state: 'ready' as const,
  startedAt: snapshot.createdAt,
  finishedAt: snapshot.createdAt,
});
