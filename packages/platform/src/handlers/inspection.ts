import { ApiError, notFound } from '@skerry/contract/error';
import { toBuildId } from '../ids.ts';
import type { Inspected } from '../sandboxes/inspector.ts';
import type { TaggedSnapshot } from '../store/rows.ts';
import type { Scope } from '../store/scope.ts';
import { requireFiles } from './access/require-files.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';
import { toSnapshotId } from './snapshots.ts';
import { requireTemplateState } from './templates/find-template.ts';

type InspectionRoute =
  | 'GET /skerry/v1/snapshots/diff'
  | 'POST /skerry/v1/snapshots/{snapshotID}/verify'
  | 'GET /skerry/v1/snapshots/{snapshotID}/log';

/** Handlers that verify and compare snapshots and list their history. */
export const createInspectionHandlers = ({
  store,
  inspector,
}: Pick<HandlerContext, 'store' | 'inspector'>): Pick<PlatformHandlers, InspectionRoute> => {
  const requireSnapshot = async (
    { snapshotID }: { snapshotID: string },
    scope: Scope,
  ): Promise<TaggedSnapshot> => {
    const { snapshot } = await requireTemplateState({ store, scope }, snapshotID, 'path.snapshotID');
    if (snapshot === null) throw notFound(`snapshot "${snapshotID}" was not found`);
    return snapshot;
  };

  const requireReadable = async (text: string, field: string, scope: Scope): Promise<Inspected> => {
    const found = await requireFiles({ store, scope }, text, field);
    if (scope.isReadOnly && 'sandbox' in found)
      throw new ApiError(
        'permission_denied',
        `${field}: the key may only read, and a sandbox cannot be paused while its files are compared: compare a snapshot of it, or use a key that is not read-only`,
      );
    return found;
  };

  return {
    'GET /skerry/v1/snapshots/diff': async ({ query, signal, context: { scope } }) => {
      const to = await requireReadable(query.to, 'query.to', scope);
      const from =
        query.from === undefined ? undefined : await requireReadable(query.from, 'query.from', scope);
      return { status: 200, body: await inspector.diff({ from, to, scope, signal }) };
    },
    'POST /skerry/v1/snapshots/{snapshotID}/verify': async ({ params, context: { scope } }) => ({
      status: 200,
      body: { problems: await inspector.verify((await requireSnapshot(params, scope)).id) },
    }),
    'GET /skerry/v1/snapshots/{snapshotID}/log': async ({ params, context: { scope } }) => {
      const rows = await inspector.log(await requireSnapshot(params, scope), scope);
      const tagged = await Promise.all(
        rows.map(async (row) => ({ row, tag: await store.findTagOf(row.id) })),
      );
      return {
        status: 200,
        body: tagged.map(({ row, tag }) => ({
          buildID: toBuildId(row.id),
          ...(tag && { snapshotID: toSnapshotId(tag) }),
          sandboxID: row.sandboxId,
          createdAt: new Date(row.createdAt).toISOString(),
          state: row.state === 'ready' ? 'ready' : 'removed',
        })),
      };
    },
  };
};
