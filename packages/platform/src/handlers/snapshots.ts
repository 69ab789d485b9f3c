import type { components } from '@skerry/platform-client';
import type { SnapshotQuery, TaggedSnapshot } from '../store/store.ts';
import { parseCursor, toCursor } from './cursor.ts';
import { parsePauseKind } from './pausing.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';
import { findTemplate, NAMESPACE, parseNewName, parseTemplateReference } from './template-reference.ts';

type SnapshotRoute = 'POST /sandboxes/{sandboxID}/snapshots' | 'GET /snapshots';

/** How callers refer to a snapshot: by its full name, or by the id of its template if that has no name. */
export const toSnapshotId = ({ templateId, templateName, tag }: TaggedSnapshot): string =>
  templateName === null ? `${templateId}:${tag}` : `${NAMESPACE}/${templateName}:${tag}`;

const toSnapshotInfo = (row: TaggedSnapshot): components['schemas']['SnapshotInfo'] => {
  const snapshotID = toSnapshotId(row);
  return { snapshotID, names: row.templateName === null ? [] : [snapshotID] };
};

/** Handlers that make and list snapshots. */
export const createSnapshotHandlers = (
  context: Pick<HandlerContext, 'store' | 'snapshotting'>,
): Pick<PlatformHandlers, SnapshotRoute> => {
  const { store, snapshotting } = context;

  /** Undefined when no row can match. */
  const parseFilter = async (query: {
    sandboxID?: string;
    name?: string;
  }): Promise<SnapshotQuery | undefined> => {
    const filter: SnapshotQuery = {};
    if (query.sandboxID !== undefined) filter.sandboxId = parseSandboxId({ sandboxID: query.sandboxID });
    if (query.name === undefined) return filter;
    const reference = parseTemplateReference('query.name', query.name);
    const template = await findTemplate(store, reference);
    if (template === undefined) return undefined;
    filter.templateId = template.id;
    if (reference.tag !== undefined) filter.tag = reference.tag;
    return filter;
  };

  return {
    'POST /sandboxes/{sandboxID}/snapshots': async ({ params, body }) => {
      const made = await snapshotting.create(parseSandboxId(params), {
        kind: parsePauseKind(body),
        ...(body.name === undefined ? { name: null, tag: 'default' } : parseNewName('body.name', body.name)),
      });
      return { status: 201, body: toSnapshotInfo(made) };
    },
    'GET /snapshots': async ({ query }) => {
      const { limit = 100, nextToken } = query;
      // A malformed token is refused also when the name is unknown.
      const cursor = nextToken === undefined ? undefined : parseCursor(nextToken, 'desc');
      const filter = await parseFilter(query);
      if (cursor !== undefined && filter !== undefined)
        filter.after = { createdAt: cursor.startedAt, id: cursor.id };
      // One row more than the page shows whether there is a next page.
      const rows = filter ? await store.listSnapshots({ ...filter, limit: limit + 1 }) : [];
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        status: 200,
        headers: last ? { 'X-Next-Token': toCursor({ startedAt: last.createdAt, id: last.id }, 'desc') } : {},
        body: page.map(toSnapshotInfo),
      };
    },
  };
};
