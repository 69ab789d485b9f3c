import { ApiError } from '@skerry/contract/error';
import type { Database } from '../schema.ts';

/** The writer of a change: with an owner, it may only change what is on nodes whose lease that owner has. */
export interface Writer {
  /** Undefined: the only server. */
  owner?: string | undefined;
}

/** The 503 for a write, or a call, of a server that is not the owner of the node. */
export const notOwner = (node: string): ApiError =>
  new ApiError('unavailable', `another server has taken over node "${node}": try again in a moment`, {
    headers: { 'Retry-After': '1' },
  });

/** Whether the writer may change what is on that node. */
export const isOwned = async (
  db: Database,
  node: string | null | undefined,
  { owner }: Writer,
): Promise<boolean> => {
  if (owner === undefined || node === null || node === undefined) return true;
  // Count an expired lease, too, as long as no other server has taken it.
  const held = db.selectFrom('leases').select('name').where('name', '=', node).where('owner', '=', owner);
  return (await held.executeTakeFirst()) !== undefined;
};

/** Rejects with `unavailable` when the writer may not change what is on that node. */
export const requireOwned = async (
  db: Database,
  node: string | null | undefined,
  writer: Writer,
): Promise<void> => {
  if (!(await isOwned(db, node, writer))) throw notOwner(node as string);
};

/**
 * Rejects with `unavailable` when the writer may not change what is on the node of that sandbox. A sandbox that has no row, or no node,
 * passes.
 */
export const requireOwnedSandbox = async (db: Database, id: string, writer: Writer): Promise<void> => {
  if (writer.owner === undefined) return;
  const row = await db.selectFrom('sandboxes').select('node').where('id', '=', id).executeTakeFirst();
  await requireOwned(db, row?.node, writer);
};

/** Writes when `require` allows it to that writer, in one transaction where several servers write. */
export const writeFenced = <T>(
  db: Database,
  writer: Writer,
  { require, write }: { require(tx: Database): Promise<void>; write(tx: Database): Promise<T> },
): Promise<T> =>
  writer.owner === undefined
    ? write(db)
    : db.transaction().execute(async (tx) => {
        await require(tx);
        return write(tx);
      });
