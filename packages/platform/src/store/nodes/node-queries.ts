import type { Selectable } from 'kysely';
import { requireOwned, type Writer, writeFenced } from '../leases/fence.ts';
import { type DatabaseTime, takeLease } from '../leases/lease-queries.ts';
import type { LeaseHolder } from '../leases/lease-store.ts';
import type { Database } from '../migrations.ts';
import { ACTIVE_STATES, PLACED_STATES } from '../store.ts';
import type { NodeLoad, NodeRow, NodeStatus, NodeStore } from './node-store.ts';
import type { NodeTable } from './node-tables.ts';

const toNodeRow = (row: Selectable<NodeTable>): NodeRow => ({
  name: row.name,
  address: row.address,
  epoch: row.epoch,
  cordoned: row.cordoned === 1,
  seenAt: row.seen_at,
  lostAt: row.lost_at,
  status: row.status === null ? null : (JSON.parse(row.status) as NodeStatus),
});

/** Whether an active sandbox or a snapshot that is not being removed is on the node. */
const isUsed = async (db: Database, name: string): Promise<boolean> => {
  const sandbox = db.selectFrom('sandboxes').select('id').where('node', '=', name);
  if (await sandbox.where('state', 'in', ACTIVE_STATES).executeTakeFirst()) return true;
  const snapshot = db.selectFrom('snapshots').select('id').where('node', '=', name);
  return (await snapshot.where('state', 'in', ['making', 'ready']).executeTakeFirst()) !== undefined;
};

const note = (
  db: Database,
  name: string,
  change: Partial<Selectable<NodeTable>>,
  writer: Writer,
): Promise<void> =>
  writeFenced(db, writer, {
    require: (tx) => requireOwned(tx, name, writer),
    write: async (tx) => {
      await tx.updateTable('nodes').set(change).where('name', '=', name).execute();
    },
  });

/** The nodes of a store, in portable SQL. */
export const createNodeQueries = (
  db: Database,
  { time, ...writer }: { time: DatabaseTime } & Writer,
): NodeStore => ({
  claimNode: (async ({ name, address }: { name: string; address: string }, holder?: LeaseHolder) =>
    db.transaction().execute(async (tx) => {
      if (holder !== undefined && !(await takeLease(tx, name, { ...holder, time }))) return undefined;
      const row = await tx
        .insertInto('nodes')
        .values({ name, address, epoch: 1, cordoned: 0, seen_at: null, lost_at: null, status: null })
        .onConflict((on) =>
          on.column('name').doUpdateSet((eb) => ({ address, epoch: eb('nodes.epoch', '+', 1) })),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      return toNodeRow(row);
    })) as NodeStore['claimNode'],

  listNodes: async () => (await db.selectFrom('nodes').selectAll().orderBy('name').execute()).map(toNodeRow),

  setCordoned: async (name, cordoned) => {
    const row = await db
      .updateTable('nodes')
      .set({ cordoned: cordoned ? 1 : 0 })
      .where('name', '=', name)
      .returningAll()
      .executeTakeFirst();
    return row && toNodeRow(row);
  },

  noteNodeStatus: (name, status) => note(db, name, { status: JSON.stringify(status) }, writer),
  noteNodeSeen: (name, at) => note(db, name, { seen_at: at, lost_at: null }, writer),
  noteNodeLost: (name, at) => note(db, name, { lost_at: at }, writer),

  measureNodes: async () => {
    const sandboxes = await db
      .selectFrom('sandboxes')
      .where('node', 'is not', null)
      .where('state', 'in', ACTIVE_STATES)
      .groupBy(['node', 'state'])
      .select((eb) => [
        'node',
        'state',
        eb.fn.countAll<number>().as('count'),
        eb.fn.sum<number>('memory_mb').as('memoryMb'),
      ])
      .execute();
    const snapshots = await db
      .selectFrom('snapshots')
      .where('node', 'is not', null)
      .where('state', '!=', 'removed')
      .groupBy('node')
      .select((eb) => ['node', eb.fn.countAll<number>().as('count')])
      .execute();
    const loads = new Map<string, NodeLoad>();
    const of = (name: string | null): NodeLoad => {
      const key = name ?? '';
      const load = loads.get(key) ?? { name: key, placed: 0, memoryMb: 0, others: 0, snapshots: 0 };
      loads.set(key, load);
      return load;
    };
    for (const { node, state, count, memoryMb } of sandboxes) {
      const load = of(node);
      if (PLACED_STATES.includes(state)) {
        load.placed += Number(count);
        load.memoryMb += Number(memoryMb);
      } else load.others += Number(count);
    }
    for (const { node, count } of snapshots) of(node).snapshots = Number(count);
    return [...loads.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  },

  forgetNode: (name) =>
    db.transaction().execute(async (tx): Promise<'forgotten' | 'in_use' | 'not_found'> => {
      const known = tx.selectFrom('nodes').select('name').where('name', '=', name);
      if ((await known.executeTakeFirst()) === undefined) return 'not_found';
      await requireOwned(tx, name, writer);
      if (await isUsed(tx, name)) return 'in_use';
      // As `forgetSnapshot` leaves them: descendants on no node may name them.
      await tx
        .updateTable('snapshots')
        .set({ state: 'removed', node: null })
        .where('node', '=', name)
        .execute();
      await tx.deleteFrom('warm_instances').where('node', '=', name).execute();
      await tx.deleteFrom('nodes').where('name', '=', name).execute();
      return 'forgotten';
    }),
});
