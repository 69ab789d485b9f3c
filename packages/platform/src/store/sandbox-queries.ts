import type { NetworkPolicy } from '@skerry/runtime';
import type { ExpressionBuilder, Selectable, SelectQueryBuilder } from 'kysely';
import { requireOwned, requireOwnedSandbox, type Writer, writeFenced } from './leases/fence.ts';
import { toLifecycleEntry, toPlacementEntry } from './lifecycle-entry.ts';
import { insertLogEntries } from './log-queries.ts';
import type { NewLogEntry } from './log-store.ts';
import type { Database } from './migrations.ts';
import type { SandboxTable, Schema } from './schema.ts';
import {
  ACTIVE_STATES,
  type NodePlace,
  PLACED_STATES,
  type SandboxFilter,
  type SandboxRow,
  type SandboxStore,
  type StateChange,
} from './store.ts';

const toFlag = (value: boolean): number => (value ? 1 : 0);

const toSandboxRow = (row: Selectable<SandboxTable>): SandboxRow => ({
  id: row.id,
  templateId: row.template_id,
  templateName: row.template_name === '' ? null : row.template_name,
  snapshotId: row.snapshot_id,
  buildId: row.build_id,
  state: row.state,
  runId: row.run_id,
  createdAt: row.created_at,
  startedAt: row.started_at,
  pausedAt: row.paused_at,
  pausedWith: row.paused_with,
  endAt: row.end_at,
  timeToLiveMs: row.time_to_live_ms,
  endedAt: row.ended_at,
  cause: row.cause,
  metadata: JSON.parse(row.metadata) as Record<string, string>,
  envVars: JSON.parse(row.env_vars) as Record<string, string>,
  secure: row.secure === 1,
  network: row.network === null ? null : (JSON.parse(row.network) as NetworkPolicy),
  networkPending: row.network_pending === 1,
  autoPause: row.auto_pause,
  cpuCount: row.cpu_count,
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  node: row.node,
});

/** Conditions to join with "or", which are none, and so false, for an empty list: PostgreSQL takes no `in ()`. */
const isOneOf = (
  eb: ExpressionBuilder<Schema, 'sandboxes'>,
  column: 'id' | 'node',
  values: readonly string[],
) => (values.length === 0 ? [] : [eb(column, 'in', values)]);

const withFilter = <O>(query: SelectQueryBuilder<Schema, 'sandboxes', O>, filter: SandboxFilter) => {
  let filtered = query.where('state', 'in', filter.states);
  if (filter.templateId !== undefined) filtered = filtered.where('template_id', '=', filter.templateId);
  const { ids, nodes } = filter;
  if (ids !== undefined) filtered = filtered.where((eb) => eb.or(isOneOf(eb, 'id', ids)));
  if (nodes !== undefined)
    filtered = filtered.where((eb) =>
      eb.or([
        ...isOneOf(
          eb,
          'node',
          nodes.filter((node) => node !== null),
        ),
        ...(nodes.includes(null) ? [eb('node', 'is', null)] : []),
      ]),
    );
  if (filter.isNetworkPending) filtered = filtered.where('network_pending', '=', 1);
  if (filter.startedFrom !== undefined) filtered = filtered.where('started_at', '>=', filter.startedFrom);
  if (filter.endsUntil !== undefined) filtered = filtered.where('end_at', '<=', filter.endsUntil);
  for (const [key, value] of filter.metadata ?? []) {
    filtered = filtered.where(({ exists, selectFrom }: ExpressionBuilder<Schema, 'sandboxes'>) =>
      exists(
        selectFrom('sandbox_metadata')
          .select('sandbox_metadata.key')
          .whereRef('sandbox_metadata.sandbox_id', '=', 'sandboxes.id')
          .where('sandbox_metadata.key', '=', key)
          .where('sandbox_metadata.value', '=', value),
      ),
    );
  }
  return filtered;
};

const countAll = async (query: SelectQueryBuilder<Schema, 'sandboxes', unknown>): Promise<number> => {
  const { total } = await query.select((eb) => eb.fn.countAll().as('total')).executeTakeFirstOrThrow();
  return Number(total);
};

const countPlaced = (db: Database): Promise<number> =>
  countAll(db.selectFrom('sandboxes').where('state', 'in', PLACED_STATES));

/** Whether a node has a place left, not counting one sandbox on it. */
const hasRoom = async (db: Database, place: NodePlace | undefined, but: string): Promise<boolean> => {
  if (place === undefined) return true;
  const placed = db.selectFrom('sandboxes').where('state', 'in', PLACED_STATES).where('id', '!=', but);
  return (await countAll(placed.where('node', '=', place.node))) < place.maxActive;
};

const isReady = async (db: Database, snapshotId: string): Promise<boolean> => {
  const found = db.selectFrom('snapshots').select('id').where('id', '=', snapshotId);
  return (await found.where('state', '=', 'ready').executeTakeFirst()) !== undefined;
};

const hasImage = async (db: Database, buildId: string): Promise<boolean> => {
  const found = db.selectFrom('builds').select('id').where('id', '=', buildId);
  return (await found.where('image', 'is not', null).executeTakeFirst()) !== undefined;
};

/** Whether a pause has a complete copy in the blob store. */
const isStored = async (
  db: Database,
  { id, paused_at }: Pick<Selectable<SandboxTable>, 'id' | 'paused_at'>,
): Promise<boolean> => {
  const copy = db.selectFrom('stored_snapshots').select('id').where('state', '=', 'stored');
  return (
    (await copy.where('sandbox_id', '=', id).where('paused_at', '=', paused_at).executeTakeFirst()) !==
    undefined
  );
};

const updateState = async (
  db: Database,
  id: string,
  { from, to, endAtMost, runId, set = {} }: StateChange,
): Promise<SandboxRow | undefined> => {
  let update = db
    .updateTable('sandboxes')
    .set({
      state: to,
      ...(set.runId !== undefined && { run_id: set.runId }),
      ...(set.startedAt !== undefined && { started_at: set.startedAt }),
      ...(set.endAt !== undefined && { end_at: set.endAt }),
      ...(set.timeToLiveMs !== undefined && { time_to_live_ms: set.timeToLiveMs }),
      ...(set.endedAt !== undefined && { ended_at: set.endedAt }),
      ...(set.cause !== undefined && { cause: set.cause }),
      ...(set.pausedAt !== undefined && { paused_at: set.pausedAt }),
      ...(set.pausedWith !== undefined && { paused_with: set.pausedWith }),
      ...(set.snapshotId !== undefined && { snapshot_id: set.snapshotId }),
      ...(set.node !== undefined && { node: set.node }),
    })
    .where('id', '=', id)
    .where('state', 'in', from);
  if (endAtMost !== undefined) update = update.where('end_at', '<=', endAtMost);
  if (runId !== undefined) update = update.where('run_id', '=', runId);
  const row = await update.returningAll().executeTakeFirst();
  return row && toSandboxRow(row);
};

/** Writes an entry of the platform. */
const noteLog = (db: Database, entry: Omit<NewLogEntry, 'at' | 'sizeBytes'>, at: number): Promise<void> =>
  insertLogEntries(db, [{ ...entry, at, sizeBytes: 0 }]);

/** The sandbox part of a store, in portable SQL. */
export const createSandboxQueries = (
  db: Database,
  { now, ...writer }: { now: () => number } & Writer,
): SandboxStore => ({
  reserveSandbox: (sandbox, { maxActive, place }) =>
    db.transaction().execute(async (tx) => {
      await requireOwned(tx, place?.node, writer);
      if ((await countPlaced(tx)) >= maxActive) return 'limit';
      if (!(await hasRoom(tx, place, sandbox.id))) return 'node_full';
      if (sandbox.snapshotId !== null && !(await isReady(tx, sandbox.snapshotId))) return 'no_snapshot';
      if (sandbox.buildId !== null && !(await hasImage(tx, sandbox.buildId))) return 'no_image';
      await tx.deleteFrom('warm_instances').where('id', '=', sandbox.id).execute();
      await tx
        .insertInto('sandboxes')
        .values({
          id: sandbox.id,
          template_id: sandbox.templateId,
          template_name: sandbox.templateName ?? '',
          snapshot_id: sandbox.snapshotId,
          build_id: sandbox.buildId,
          state: 'starting',
          run_id: null,
          created_at: sandbox.createdAt,
          started_at: sandbox.createdAt,
          end_at: sandbox.endAt,
          time_to_live_ms: sandbox.endAt - sandbox.createdAt,
          ended_at: null,
          cause: null,
          metadata: JSON.stringify(sandbox.metadata),
          env_vars: JSON.stringify(sandbox.envVars),
          secure: toFlag(sandbox.secure),
          network: sandbox.network && JSON.stringify(sandbox.network),
          auto_pause: sandbox.autoPause,
          paused_at: null,
          paused_with: null,
          cpu_count: sandbox.cpuCount,
          memory_mb: sandbox.memoryMb,
          disk_mb: sandbox.diskMb,
          node: place?.node ?? null,
        })
        .execute();
      for (const [key, value] of Object.entries(sandbox.metadata)) {
        await tx.insertInto('sandbox_metadata').values({ sandbox_id: sandbox.id, key, value }).execute();
      }
      if (place) await noteLog(tx, toPlacementEntry(sandbox.id, place), now());
      return 'reserved';
    }),

  movePlace: (id, place) =>
    db.transaction().execute(async (tx): Promise<'moved' | 'node_full' | 'not_starting'> => {
      await requireOwned(tx, place.node, writer);
      await requireOwnedSandbox(tx, id, writer);
      if (!(await hasRoom(tx, place, id))) return 'node_full';
      const moved = await tx
        .updateTable('sandboxes')
        .set({ node: place.node })
        .where('id', '=', id)
        .where('state', '=', 'starting')
        .executeTakeFirst();
      if (moved.numUpdatedRows === 0n) return 'not_starting';
      await noteLog(tx, toPlacementEntry(id, place), now());
      return 'moved';
    }),

  reserveResume: (id, { endAt, maxActive, place, moves = false }) =>
    db.transaction().execute(async (tx) => {
      // The copy in the blob store may be used by the owner of any node: its former one gets no run of it any more.
      if (moves) await requireOwned(tx, place?.node, writer);
      else await requireOwnedSandbox(tx, id, writer);
      const paused = await tx
        .selectFrom('sandboxes')
        .select(['id', 'paused_at'])
        .where('id', '=', id)
        .where('state', '=', 'paused')
        .executeTakeFirst();
      if (paused === undefined || (moves && !(await isStored(tx, paused)))) return 'not_paused';
      if ((await countPlaced(tx)) >= maxActive) return 'limit';
      if (!(await hasRoom(tx, place, id))) return 'node_full';
      await tx
        .updateTable('sandboxes')
        .set({ state: 'resuming', end_at: endAt, ...(place && moves && { node: place.node }) })
        .where('id', '=', id)
        .execute();
      if (place && moves) await noteLog(tx, toPlacementEntry(id, place), now());
      return 'reserved';
    }),

  findSandbox: async (id) => {
    const row = await db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toSandboxRow(row);
  },

  changeState: (id, change) =>
    db.transaction().execute(async (tx) => {
      await requireOwnedSandbox(tx, id, writer);
      const row = await updateState(tx, id, change);
      const entry = row && toLifecycleEntry(change, row);
      if (entry) await noteLog(tx, entry, now());
      return row;
    }),

  moveEnd: (id, { endAt, timeToLiveMs, extendOnly }) =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => {
        const row = await tx
          .updateTable('sandboxes')
          .set((eb) => ({
            end_at: extendOnly
              ? eb.case().when('end_at', '<', endAt).then(endAt).else(eb.ref('end_at')).end()
              : endAt,
            ...(timeToLiveMs !== undefined && { time_to_live_ms: timeToLiveMs }),
          }))
          .where('id', '=', id)
          .where('state', '=', 'running')
          .returningAll()
          .executeTakeFirst();
        return row && toSandboxRow(row);
      },
    }),

  setNetwork: (id, network) =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('sandboxes')
          .set({ network: network && JSON.stringify(network), network_pending: 1 })
          .where('id', '=', id)
          .where('state', '=', 'running')
          .executeTakeFirst();
        return numUpdatedRows > 0n;
      },
    }),

  confirmNetwork: (id) =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => {
        await tx.updateTable('sandboxes').set({ network_pending: 0 }).where('id', '=', id).execute();
      },
    }),

  listSandboxes: async ({ order, limit, after, ...filter }) => {
    const beyond = order === 'asc' ? '>' : '<';
    let query = withFilter(db.selectFrom('sandboxes'), filter)
      .selectAll()
      .orderBy('started_at', order)
      .orderBy('id', order);
    if (after !== undefined) {
      // As a pair: an index finds where it begins, which it does not for conditions joined by "or".
      query = query.where((eb) =>
        eb(eb.refTuple('started_at', 'id'), beyond, eb.tuple(after.startedAt, after.id)),
      );
    }
    if (limit !== undefined) query = query.limit(limit);
    return (await query.execute()).map(toSandboxRow);
  },

  listRuns: async (ids) => {
    if (ids.length === 0) return [];
    const rows = await db
      .selectFrom('sandboxes')
      .select(['id', 'run_id', 'node'])
      .where('id', 'in', ids)
      .where('state', '=', 'running')
      .execute();
    return rows.map(({ id, run_id, node }) => ({ id, runId: run_id, node }));
  },

  countByState: async () => {
    const rows = await db
      .selectFrom('sandboxes')
      .where('state', 'in', ACTIVE_STATES)
      .groupBy(['node', 'state'])
      .orderBy('node')
      .orderBy('state')
      .select((eb) => ['node', 'state', eb.fn.countAll<number>().as('count')])
      .execute();
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  },

  countSandboxes: (filter) => countAll(withFilter(db.selectFrom('sandboxes'), filter)),

  deleteEndedSandboxes: async (before) => {
    await db.deleteFrom('sandboxes').where('state', '=', 'ended').where('ended_at', '<', before).execute();
  },
});
