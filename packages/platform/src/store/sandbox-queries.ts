import type { NetworkPolicy } from '@skerry/runtime';
import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import { json } from './columns.ts';
import { requireOwned, requireOwnedSandbox, type Writer, writeFenced } from './leases/fence.ts';
import { toLifecycleEntry, toPlacementEntry } from './lifecycle-entry.ts';
import { insertLogEntries } from './log-queries.ts';
import type { NewLogEntry } from './log-rows.ts';
import { findExceeded } from './quotas/find-exceeded.ts';
import {
  ACTIVE_STATES,
  type NewSandbox,
  type NodePlace,
  PLACED_STATES,
  type ResumeReservation,
  type SandboxCount,
  type SandboxFilter,
  type SandboxQuery,
  type SandboxReservation,
  type SandboxRow,
  type StateChange,
} from './rows.ts';
import type { Database, Schema } from './schema.ts';
import { isOwned, type Scope } from './scope.ts';
import type { Sealer } from './sealer.ts';

/** Conditions to join with "or", which are none, and so false, for an empty list: PostgreSQL takes no `in ()`. */
const isOneOf = (
  eb: ExpressionBuilder<Schema, 'sandboxes'>,
  column: 'id' | 'node',
  values: readonly string[],
) => (values.length === 0 ? [] : [eb(column, 'in', values)]);

const withFilter = <O>(query: SelectQueryBuilder<Schema, 'sandboxes', O>, filter: SandboxFilter) => {
  let filtered = query.where('state', 'in', filter.states);
  if (filter.templateId !== undefined) filtered = filtered.where('templateId', '=', filter.templateId);
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
  if (filter.scope !== undefined) filtered = filtered.where(isOwned('sandboxes.project', filter.scope));
  if (filter.isNetworkPending) filtered = filtered.where('networkPending', '=', true);
  if (filter.startedFrom !== undefined) filtered = filtered.where('startedAt', '>=', filter.startedFrom);
  if (filter.endsUntil !== undefined) filtered = filtered.where('endAt', '<=', filter.endsUntil);
  for (const [key, value] of filter.metadata ?? []) {
    filtered = filtered.where(({ exists, selectFrom }: ExpressionBuilder<Schema, 'sandboxes'>) =>
      exists(
        selectFrom('sandboxMetadata')
          .select('sandboxMetadata.key')
          .whereRef('sandboxMetadata.sandboxId', '=', 'sandboxes.id')
          .where('sandboxMetadata.key', '=', key)
          .where('sandboxMetadata.value', '=', value),
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
const hasBlobCopy = async (
  db: Database,
  { id, pausedAt }: Pick<SandboxRow, 'id' | 'pausedAt'>,
): Promise<boolean> => {
  const copy = db.selectFrom('blobCopies').select('id').where('state', '=', 'complete');
  return (
    (await copy.where('sandboxId', '=', id).where('pausedAt', '=', pausedAt).executeTakeFirst()) !== undefined
  );
};

const updateState = (
  db: Database,
  id: string,
  { from, to, endAtMost, runId, set = {} }: StateChange,
): Promise<SandboxRow | undefined> => {
  let update = db
    .updateTable('sandboxes')
    .set({ ...set, state: to })
    .where('id', '=', id)
    .where('state', 'in', from);
  if (endAtMost !== undefined) update = update.where('endAt', '<=', endAtMost);
  if (runId !== undefined) update = update.where('runId', '=', runId);
  return update.returningAll().executeTakeFirst();
};

/** Writes an entry of the platform. */
const noteLog = (db: Database, entry: Omit<NewLogEntry, 'at' | 'sizeBytes'>, at: number): Promise<void> =>
  insertLogEntries(db, [{ ...entry, at, sizeBytes: 0 }]);

/** The sandboxes of a store, in portable SQL. */
export const createSandboxQueries = (
  db: Database,
  { now, sealer, ...writer }: { now: () => number; sealer: Sealer } & Writer,
) => ({
  /**
   * Writes a row in state `starting`, in one transaction with the check that fewer than `maxActive` sandboxes have a
   * place (`PLACED_STATES`) and that its snapshot is ready and the image of its build exists, and removes the warm instance of that id from its list.
   * Returns `limit` when the limit is reached, the limit of its key that it would exceed, `node_full` when that of the node is reached, `no_snapshot` or `no_image` when that is gone;
   * then nothing is written. A place on a node is recorded in the log of the sandbox.
   */
  reserveSandbox: (
    sandbox: NewSandbox,
    { maxActive, place }: { maxActive: number; place?: NodePlace | undefined },
  ) =>
    db.transaction().execute(async (tx): Promise<SandboxReservation> => {
      await requireOwned(tx, place?.node, writer);
      if ((await countPlaced(tx)) >= maxActive) return 'limit';
      const exceeded = await findExceeded(tx, sandbox);
      if (exceeded !== undefined) return exceeded;
      if (!(await hasRoom(tx, place, sandbox.id))) return 'node_full';
      if (sandbox.snapshotId !== null && !(await isReady(tx, sandbox.snapshotId))) return 'no_snapshot';
      if (sandbox.buildId !== null && !(await hasImage(tx, sandbox.buildId))) return 'no_image';
      await tx.deleteFrom('warmInstances').where('id', '=', sandbox.id).execute();
      await tx
        .insertInto('sandboxes')
        .values({
          ...sandbox,
          state: 'starting',
          runId: null,
          startedAt: sandbox.createdAt,
          timeToLiveMs: sandbox.endAt - sandbox.createdAt,
          endedAt: null,
          cause: null,
          metadata: json(sandbox.metadata),
          envVars: sealer.seal(sandbox.envVars, 'envVars'),
          network: json(sandbox.network),
          networkPending: false,
          ingress: json(sandbox.ingress),
          pausedAt: null,
          pausedWith: null,
          node: place?.node ?? null,
        })
        .execute();
      for (const [key, value] of Object.entries(sandbox.metadata)) {
        await tx.insertInto('sandboxMetadata').values({ sandboxId: sandbox.id, key, value }).execute();
      }
      if (place) await noteLog(tx, toPlacementEntry(sandbox.id, place), now());
      return 'reserved';
    }),

  /** Moves a row in state `starting` to another node, in one transaction with the check that it has room; also records that in its log. */
  movePlace: (id: string, place: NodePlace) =>
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

  /**
   * Moves a paused row to `resuming` with that end, in one transaction with the same check. Returns `limit` when the
   * limit is reached, the limit of its key that it would exceed, `node_full` when that of its node is reached, `not_paused` when the row is in another state or missing; then nothing is
   * written. With `moves` the sandbox is on the node of the place from then on, which its log records: the writer must act for that node
   * instead of the former one, and without a complete copy of the pause it is `not_paused`.
   */
  reserveResume: (
    id: string,
    {
      endAt,
      maxActive,
      place,
      moves = false,
    }: { endAt: number; maxActive: number; place?: NodePlace | undefined; moves?: boolean },
  ) =>
    db.transaction().execute(async (tx): Promise<ResumeReservation> => {
      // The copy in the blob store may be used by the owner of any node: its former one gets no run of it any more.
      if (moves) await requireOwned(tx, place?.node, writer);
      else await requireOwnedSandbox(tx, id, writer);
      const paused = await tx
        .selectFrom('sandboxes')
        .select(['id', 'pausedAt', 'keyId', 'memoryMb'])
        .where('id', '=', id)
        .where('state', '=', 'paused')
        .executeTakeFirst();
      if (paused === undefined || (moves && !(await hasBlobCopy(tx, paused)))) return 'not_paused';
      if ((await countPlaced(tx)) >= maxActive) return 'limit';
      const exceeded = await findExceeded(tx, paused);
      if (exceeded !== undefined) return exceeded;
      if (!(await hasRoom(tx, place, id))) return 'node_full';
      await tx
        .updateTable('sandboxes')
        .set({ state: 'resuming', endAt, ...(place && moves && { node: place.node }) })
        .where('id', '=', id)
        .execute();
      if (place && moves) await noteLog(tx, toPlacementEntry(id, place), now());
      return 'reserved';
    }),

  findSandbox: (id: string): Promise<SandboxRow | undefined> =>
    db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirst(),

  /** Finds a sandbox that a caller may see. */
  findOwnSandbox: (id: string, scope: Scope): Promise<SandboxRow | undefined> =>
    db
      .selectFrom('sandboxes')
      .selectAll()
      .where('id', '=', id)
      .where(isOwned('sandboxes.project', scope))
      .executeTakeFirst(),

  /**
   * Moves a row from one of the expected states to the next. Returns undefined and changes nothing when it is in
   * another state. An entry for the owner goes into the log of the sandbox in the same transaction.
   */
  changeState: (id: string, change: StateChange): Promise<SandboxRow | undefined> =>
    db.transaction().execute(async (tx) => {
      await requireOwnedSandbox(tx, id, writer);
      const row = await updateState(tx, id, change);
      const entry = row && toLifecycleEntry(change, row);
      if (entry) await noteLog(tx, entry, now());
      return row;
    }),

  /**
   * Sets the end of a running sandbox, and its time to live if there is one. With `extendOnly` an earlier end does not change the row. Undefined when not
   * running.
   */
  moveEnd: (
    id: string,
    {
      endAt,
      timeToLiveMs,
      extendOnly,
    }: { endAt: number; timeToLiveMs?: number | undefined; extendOnly: boolean },
  ): Promise<SandboxRow | undefined> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: (tx) =>
        tx
          .updateTable('sandboxes')
          .set((eb) => ({
            endAt: extendOnly
              ? eb.case().when('endAt', '<', endAt).then(endAt).else(eb.ref('endAt')).end()
              : endAt,
            timeToLiveMs,
          }))
          .where('id', '=', id)
          .where('state', '=', 'running')
          .returningAll()
          .executeTakeFirst(),
    }),

  /** Records the policy of a running sandbox, which is pending until `confirmNetwork`. False when it is not running. */
  setNetwork: (id: string, network: NetworkPolicy | null): Promise<boolean> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('sandboxes')
          .set({ network: json(network), networkPending: true })
          .where('id', '=', id)
          .where('state', '=', 'running')
          .executeTakeFirst();
        return numUpdatedRows > 0n;
      },
    }),

  /** Records that the sandbox has its policy. */
  confirmNetwork: (id: string): Promise<void> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => {
        await tx.updateTable('sandboxes').set({ networkPending: false }).where('id', '=', id).execute();
      },
    }),

  /** Rows in these states by start time, ties by id. */
  listSandboxes: ({ order, limit, after, ...filter }: SandboxQuery): Promise<SandboxRow[]> => {
    const beyond = order === 'asc' ? '>' : '<';
    let query = withFilter(db.selectFrom('sandboxes'), filter)
      .selectAll()
      .orderBy('startedAt', order)
      .orderBy('id', order);
    if (after !== undefined) {
      // Compare a pair: an index finds where the pair begins, which it does not for conditions joined by
      // "or".
      query = query.where((eb) =>
        eb(eb.refTuple('startedAt', 'id'), beyond, eb.tuple(after.startedAt, after.id)),
      );
    }
    if (limit !== undefined) query = query.limit(limit);
    return query.execute();
  },

  /** Lists those of the given sandboxes that are running, with their runs. */
  listRuns: async (
    ids: readonly string[],
  ): Promise<{ id: string; runId: string | null; node: string | null }[]> => {
    if (ids.length === 0) return [];
    const running = db.selectFrom('sandboxes').where('id', 'in', ids).where('state', '=', 'running');
    return running.select(['id', 'runId', 'node']).execute();
  },

  /** How many sandboxes that have not ended are in each state on each node; null: on no node. */
  countByState: async (): Promise<SandboxCount[]> => {
    const rows = await db
      .selectFrom('sandboxes')
      .where('state', 'in', ACTIVE_STATES)
      .groupBy(['node', 'state', 'isolation'])
      .orderBy('node')
      .orderBy('state')
      .orderBy('isolation')
      .select((eb) => ['node', 'state', 'isolation', eb.fn.countAll<number>().as('count')])
      .execute();
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  },

  /** The number of rows that match the same filters. */
  countSandboxes: (filter: SandboxFilter) => countAll(withFilter(db.selectFrom('sandboxes'), filter)),

  /** The earliest end of a running sandbox, of one project or of all (null); undefined when none runs. */
  findNextEnd: async (project: string | null): Promise<number | undefined> => {
    const next = db
      .selectFrom('sandboxes')
      .select('endAt')
      .where('state', '=', 'running')
      .where(isOwned('sandboxes.project', { project }))
      .orderBy('endAt')
      .limit(1);
    return (await next.executeTakeFirst())?.endAt;
  },

  /** Removes sandboxes that ended before that time. */
  deleteEndedSandboxes: async (before: number): Promise<void> => {
    await db.deleteFrom('sandboxes').where('state', '=', 'ended').where('endedAt', '<', before).execute();
  },
});
