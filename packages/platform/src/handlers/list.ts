import { invalid } from '@skerry/contract/error';
import { PAUSED_STATES, type SandboxFilter } from '../store/rows.ts';
import type { Scope } from '../store/scope.ts';
import { parseCursor, toCursor } from './cursor.ts';
import { parseMetadataFilter } from './metadata-filter.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { toListedSandbox } from './sandbox-replies.ts';
import { findTemplate } from './templates/find-template.ts';
import { parseTemplateReference } from './templates/template-reference.ts';

type ListRoute = 'GET /sandboxes' | 'GET /v2/sandboxes';
type ListQuery = Parameters<PlatformHandlers['GET /v2/sandboxes']>[0]['query'];

const parseStartedAfter = (text: string): number => {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw invalid(`query.startedAfter must be a date and time of RFC 3339, got "${text}"`);
  return time;
};

const parseTemplateFilter = (text: string) => {
  const reference = parseTemplateReference('query.template', text);
  if (reference.tag !== undefined || reference.buildId !== undefined)
    throw invalid(`query.template must have no tag, got "${text}"`);
  return reference;
};

/** The two handlers that list sandboxes. */
export const createListHandlers = ({
  store,
}: Pick<HandlerContext, 'store'>): Pick<PlatformHandlers, ListRoute> => {
  /** Undefined when no row can match. */
  const parseFilter = async (query: ListQuery, scope: Scope): Promise<SandboxFilter | undefined> => {
    const wanted = query.state?.length ? query.state : ['running', 'paused'];
    const states = wanted.flatMap((state) => (state === 'running' ? (['running'] as const) : PAUSED_STATES));
    const filter: SandboxFilter = { scope, states, metadata: parseMetadataFilter(query.metadata) };
    if (query.startedAfter !== undefined) filter.startedFrom = parseStartedAfter(query.startedAfter);
    if (query.template !== undefined) {
      const template = await findTemplate({ store, scope }, parseTemplateFilter(query.template));
      if (template === undefined) return undefined;
      filter.templateId = template.id;
    }
    return filter;
  };

  const countRunning = (filter: SandboxFilter) => store.countSandboxes({ ...filter, states: ['running'] });

  return {
    'GET /sandboxes': async ({ query, context: { scope } }) => {
      const metadata = parseMetadataFilter(query.metadata);
      const rows = await store.listSandboxes({ scope, states: ['running'], metadata, order: 'desc' });
      return { status: 200, body: rows.map(toListedSandbox) };
    },
    'GET /v2/sandboxes': async ({ query, context: { scope } }) => {
      const { order = 'desc', limit = 100, nextToken } = query;
      const after = nextToken === undefined ? {} : { after: parseCursor(nextToken, order) };
      const filter = await parseFilter(query, scope);
      // One row more than the page shows whether there is a next page.
      const rows = filter ? await store.listSandboxes({ ...filter, ...after, order, limit: limit + 1 }) : [];
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      const wantsRunning = !query.state?.length || query.state.includes('running');
      return {
        status: 200,
        headers: {
          ...(last && { 'X-Next-Token': toCursor(last, order) }),
          ...(wantsRunning && { 'X-Total-Running': filter ? await countRunning(filter) : 0 }),
        },
        body: page.map(toListedSandbox),
      };
    },
  };
};
