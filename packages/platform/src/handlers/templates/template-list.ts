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
  'GET /templates': async ({ query }) => {
    requireOwnTeam('query.teamID', query.teamID);
    return { status: 200, body: (await store.listTemplates({ kinds })).map(toTemplate) };
  },
  'GET /v2/templates': async ({ query }) => {
    const { teamID, limit = 100, nextToken } = query;
    requireOwnTeam('query.teamID', teamID);
    const cursor = nextToken === undefined ? undefined : parseCursor(nextToken, 'desc');
    const after = cursor && { createdAt: cursor.startedAt, id: cursor.id };
    // One more than the page shows whether there is a next page.
    const rows = await store.listTemplates({ kinds, limit: limit + 1, ...(after && { after }) });
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1)?.template : undefined;
    return {
      status: 200,
      headers: last ? { 'X-Next-Token': toCursor({ startedAt: last.createdAt, id: last.id }, 'desc') } : {},
      body: shown.map(toTemplate),
    };
  },
});
