import { toOwnProject } from '../../store/scope.ts';
import { parseCursor, toCursor } from '../cursor.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';
import { toTemplate } from '../template-replies.ts';
import { requireOwnTeam } from './template-reference.ts';

type ListRoute = 'GET /templates' | 'GET /v2/templates';

/** Snapshots have a list of their own. */
const kinds = ['image', 'build'] as const;

/** The two handlers that list templates. */
export const createTemplateListHandlers = ({
  store,
}: Pick<HandlerContext, 'store'>): Pick<PlatformHandlers, ListRoute> => ({
  'GET /templates': async ({ query, context: { scope } }) => {
    requireOwnTeam('query.teamID', query.teamID, toOwnProject(scope));
    return { status: 200, body: (await store.listTemplates({ scope, kinds })).map(toTemplate) };
  },
  'GET /v2/templates': async ({ query, context: { scope } }) => {
    const { teamID, limit = 100, nextToken } = query;
    requireOwnTeam('query.teamID', teamID, toOwnProject(scope));
    const cursor = nextToken === undefined ? undefined : parseCursor(nextToken, 'desc');
    const after = cursor && { createdAt: cursor.startedAt, id: cursor.id };
    // One more than the page shows whether there is a next page.
    const rows = await store.listTemplates({ scope, kinds, limit: limit + 1, ...(after && { after }) });
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1)?.template : undefined;
    return {
      status: 200,
      headers: last ? { 'X-Next-Token': toCursor({ startedAt: last.createdAt, id: last.id }, 'desc') } : {},
      body: shown.map(toTemplate),
    };
  },
});
