import type { components } from '@skerry/platform-client';
import type { SnapshotQuery, TaggedSnapshot } from '../store/rows.ts';
import { type Scope, toOwnProject } from '../store/scope.ts';
import { parseCursor, toCursor } from './cursor.ts';
import { parsePauseKind } from './pause.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { parseSandboxId } from './sandbox-id.ts';
import { findTemplate, findTemplateState } from './templates/find-template.ts';
import { parseNewName, parseTemplateReference } from './templates/template-reference.ts';

type SnapshotRoute = 'POST /sandboxes/{sandboxID}/snapshots' | 'GET /snapshots';

/** How callers refer to a snapshot: by its full name, or by the id of its template if that has no name. */
export const toSnapshotId = ({ project, templateId, templateName, tag }: TaggedSnapshot): string =>
  templateName === null ? `${templateId}:${tag}` : `${project}/${templateName}:${tag}`;

const toSnapshotInfo = (row: TaggedSnapshot): components['schemas']['SnapshotInfo'] => {
  const snapshotID = toSnapshotId(row);
  return { snapshotID, names: row.templateName === null ? [] : [snapshotID] };
};

/** Handlers that make and list snapshots. */
export const createSnapshotHandlers = (
  context: Pick<HandlerContext, 'store' | 'snapshotter'>,
): Pick<PlatformHandlers, SnapshotRoute> => {
  const { store, snapshotter } = context;

  /** Returns the snapshot that a name means: that of its tag or build id, or else the newest. */
  const findNamed = async (name: string, scope: Scope): Promise<TaggedSnapshot | undefined> => {
    const reference = parseTemplateReference('query.name', name);
    if (reference.tag !== undefined || reference.buildId !== undefined)
      return (await findTemplateState({ store, scope }, reference))?.snapshot ?? undefined;
    const template = await findTemplate({ store, scope }, reference);
    return template && (await store.listSnapshots({ templateId: template.id, limit: 1 }))[0];
  };

  return {
    'POST /sandboxes/{sandboxID}/snapshots': async ({ params, body, context: { scope } }) => {
      const id = parseSandboxId(params);
      // The name is one of the project of the sandbox, also for a caller of none.
      const { project } = (await store.findOwnSandbox(id, scope)) ?? { project: toOwnProject(scope) };
      const made = await snapshotter.create(id, {
        kind: parsePauseKind(body),
        ...(body.name === undefined
          ? { name: null, tag: 'default' }
          : parseNewName('body.name', body.name, project)),
      });
      return { status: 201, body: toSnapshotInfo(made) };
    },
    'GET /snapshots': async ({ query, context: { scope } }) => {
      const { limit = 100, nextToken } = query;
      // Parse all before the lookups: a malformed token is refused also when the name is unknown.
      const cursor = nextToken === undefined ? undefined : parseCursor(nextToken, 'desc');
      const filter: SnapshotQuery = { scope };
      if (cursor !== undefined) filter.after = { createdAt: cursor.startedAt, id: cursor.id };
      if (query.sandboxID !== undefined) filter.sandboxId = parseSandboxId({ sandboxID: query.sandboxID });
      if (query.name !== undefined) {
        // A name means one snapshot, so there is no page after the first.
        const found = cursor === undefined ? await findNamed(query.name, scope) : undefined;
        const isMatch = found !== undefined && (filter.sandboxId ?? found.sandboxId) === found.sandboxId;
        return { status: 200, headers: {}, body: isMatch ? [toSnapshotInfo(found)] : [] };
      }
      // One row more than the page shows whether there is a next page.
      const rows = await store.listSnapshots({ ...filter, limit: limit + 1 });
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
