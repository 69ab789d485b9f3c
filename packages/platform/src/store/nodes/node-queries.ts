import type { Updateable } from 'kysely';
import { json } from '../columns.ts';
import { requireOwned, type Writer, writeFenced } from '../leases/fence.ts';
import { type DatabaseTime, takeLease } from '../leases/lease-queries.ts';
import type { LeaseHolder } from '../leases/lease-rows.ts';
import { ACTIVE_STATES, PLACED_STATES } from '../rows.ts';
import type { Database, Schema } from '../schema.ts';
import type { NodeLoad, NodeRow, NodeStatus } from './node-rows.ts';

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
  change: Updateable<Schema['nodes']>,
  writer: Writer,
): Promise<void> =>
  writeFenced(db, writer, {
    require: (tx) => requireOwned(tx, name, writer),
    write: async (tx) => {
      await tx.updateTable('nodes').set(change).where('name', '=', name).execute();
    },
  });

interface ClaimNode {
  (node: { name: string; address: string }): Promise<NodeRow>;
  (node: { name: string; address: string }, holder: LeaseHolder): Promise<NodeRow | undefined>;
}

/** The machines on which the sandboxes are, in portable SQL; none where they are on that of the server. */
export const createNodeQueries = (db: Database, { time, ...writer }: { time: DatabaseTime } & Writer) => ({
  /**
   * Records the node at that address, and raises its epoch, from 0 for a new one. Resolves with the row. With a holder its lease is taken
   * in the same transaction; undefined, and nothing is written, when another owner has it.
   */
  claimNode: (async ({ name, address }: { name: string; address: string }, holder?: LeaseHolder) =>
    db.transaction().execute(async (tx) => {
      if (holder !== undefined && !(await takeLease(tx, name, { ...holder, time }))) return undefined;
      return tx
        .insertInto('nodes')
        .values({ name, address, epoch: 1, cordoned: false, seenAt: null, lostAt: null, status: null })
        .onConflict((on) =>
          on.column('name').doUpdateSet((eb) => ({ address, epoch: eb('nodes.epoch', '+', 1) })),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
    })) as ClaimNode,

  /** Lists the nodes, by name. */
  listNodes: (): Promise<NodeRow[]> => db.selectFrom('nodes').selectAll().orderBy('name').execute(),

  /** Resolves with the changed row; undefined when there is no such node. */
  setCordoned: (name: string, cordoned: boolean): Promise<NodeRow | undefined> =>
    db.updateTable('nodes').set({ cordoned }).where('name', '=', name).returningAll().executeTakeFirst(),

  /** Records what its owner knows of it, for the other servers. */
  noteNodeStatus: (name: string, status: NodeStatus) => note(db, name, { status: json(status) }, writer),

  /** Records when the node last answered, and that it is not lost. */
  noteNodeSeen: (name: string, at: number) => note(db, name, { seenAt: at, lostAt: null }, writer),

  /** Records that the node is held for dead. */
  noteNodeLost: (name: string, at: number) => note(db, name, { lostAt: at }, writer),

  /** What the sandboxes on each node take, without nodes that have none. */
  measureNodes: async (): Promise<NodeLoad[]> => {
    const sandboxes = await db
      .selectFrom('sandboxes')
      .where('node', 'is not', null)
      .where('state', 'in', ACTIVE_STATES)
      .groupBy(['node', 'state'])
      .select((eb) => [
        'node',
        'state',
        eb.fn.countAll<number>().as('count'),
        eb.fn.sum<number>('memoryMb').as('memoryMb'),
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

  /**
   * Deletes a node, with the snapshots on it that are being removed and the instances that wait there, in one transaction with the check that no other snapshot and no
   * active sandbox is on it; `in_use` when there is one.
   */
  forgetNode: (name: string) =>
    db.transaction().execute(async (tx): Promise<'forgotten' | 'in_use' | 'not_found'> => {
      const known = tx.selectFrom('nodes').select('name').where('name', '=', name);
      if ((await known.executeTakeFirst()) === undefined) return 'not_found';
      await requireOwned(tx, name, writer);
      if (await isUsed(tx, name)) return 'in_use';
      // Keep the rows of its snapshots, as `forgetSnapshot` does: descendants on no node may name them.
      await tx
        .updateTable('snapshots')
        .set({ state: 'removed', node: null })
        .where('node', '=', name)
        .execute();
      await tx.deleteFrom('warmInstances').where('node', '=', name).execute();
      await tx.deleteFrom('nodes').where('name', '=', name).execute();
      return 'forgotten';
    }),
});
