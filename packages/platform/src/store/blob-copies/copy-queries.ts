import { requireOwned, requireOwnedSandbox, type Writer, writeFenced } from '../leases/fence.ts';
import type { Database } from '../schema.ts';
import type { BlobCopyRow, BlobCopyTable, CopyResult, CopySubject, NewBlobCopy } from './copy-rows.ts';
import { listKeptSnapshots, listMissingCopies } from './list-missing-copies.ts';
import { retireBlobCopies } from './retire-copies.ts';

const toSubject = ({ sandboxId, pausedAt, snapshotId, image }: BlobCopyTable): CopySubject => {
  if (sandboxId !== null) return { sandboxId, pausedAt };
  return image === null ? { snapshotId: snapshotId ?? '' } : { image };
};

const toBlobCopyRow = (row: BlobCopyTable): BlobCopyRow => ({
  id: row.id,
  state: 'complete',
  of: toSubject(row),
  createdAt: row.createdAt,
  manifestSha256: row.manifestSha256 ?? '',
  templateDigest: row.templateDigest ?? '',
  sizeBytes: row.sizeBytes ?? 0,
  ...(row.imageBytes !== null && { imageBytes: row.imageBytes }),
});

/**
 * Takes the paused sandbox, or those of a node, from their nodes where the present pause has a complete copy.
 * Resolves with their number.
 */
const detachSandboxes = async (db: Database, of: { id: string } | { node: string }): Promise<number> => {
  let update = db.updateTable('sandboxes').set({ node: null }).where('state', '=', 'paused');
  update = 'id' in of ? update.where('id', '=', of.id) : update.where('node', '=', of.node);
  const { numUpdatedRows } = await update
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('blobCopies')
          .select('blobCopies.id')
          .whereRef('blobCopies.sandboxId', '=', 'sandboxes.id')
          .whereRef('blobCopies.pausedAt', '=', 'sandboxes.pausedAt')
          .where('blobCopies.state', '=', 'complete'),
      ),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
};

/** Takes the ready snapshot, or those of a node, from their nodes where a complete copy exists. Resolves with their number. */
const detachSnapshots = async (db: Database, of: { id: string } | { node: string }): Promise<number> => {
  let update = db.updateTable('snapshots').set({ node: null }).where('state', '=', 'ready');
  update = 'id' in of ? update.where('id', '=', of.id) : update.where('node', '=', of.node);
  const { numUpdatedRows } = await update
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('blobCopies')
          .select('blobCopies.id')
          .whereRef('blobCopies.snapshotId', '=', 'snapshots.id')
          .where('blobCopies.state', '=', 'complete'),
      ),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
};

/**
 * The copies in the blob store, in portable SQL. A copy of a sandbox is of one pause, which its time names:
 * it can be deleted once the sandbox runs again. The id of a copy is used once: a removal that comes late
 * removes nothing else.
 */
export const createBlobCopyQueries = (db: Database, writer: Writer) => ({
  /**
   * What lacks a copy, or one in progress: paused sandboxes on a node, and snapshots on a node that a tag points to or that are the
   * checkpoint of a build with a tag; then images of builds. Those that are oldest first.
   */
  listMissingCopies: () => listMissingCopies(db),

  /** The snapshots on a node that `listMissingCopies` would list without their copies. */
  listKeptSnapshots: (node: string) => listKeptSnapshots(db, node),

  /** Writes a row in state `copying`. Rejects with `unavailable` unless the writer has the lease. */
  beginBlobCopy: ({ id, of, lease, createdAt }: NewBlobCopy): Promise<void> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwned(tx, lease, writer),
      write: async (tx) => {
        await tx
          .insertInto('blobCopies')
          .values({
            id,
            state: 'copying',
            ...{ sandboxId: null, pausedAt: null, snapshotId: null, image: null, ...of },
            lease,
            owner: writer.owner ?? null,
            createdAt,
            ...{ manifestSha256: null, templateDigest: null, sizeBytes: null, imageBytes: null },
          })
          .execute();
      },
    }),

  /**
   * Moves a row of the writer to `complete`. Resolves with false when it is not `copying` any more; rejects with `unavailable` when the
   * writer has lost the lease of the row.
   */
  finishBlobCopy: (id: string, result: CopyResult): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const found = tx.selectFrom('blobCopies').select(['lease', 'owner']).where('id', '=', id);
      const row = await found.where('state', '=', 'copying').executeTakeFirst();
      if (row === undefined || row.owner !== (writer.owner ?? null)) return false;
      await requireOwned(tx, row.lease, writer);
      await tx
        .updateTable('blobCopies')
        .set({ ...result, state: 'complete' })
        .where('id', '=', id)
        .execute();
      return true;
    }),

  /** The copy of a pause, a snapshot or an image that is complete. */
  findBlobCopy: async (of: CopySubject): Promise<BlobCopyRow | undefined> => {
    let query = db.selectFrom('blobCopies').selectAll().where('state', '=', 'complete');
    if ('sandboxId' in of)
      query = query.where('sandboxId', '=', of.sandboxId).where('pausedAt', '=', of.pausedAt);
    else if ('image' in of) query = query.where('image', '=', of.image);
    else query = query.where('snapshotId', '=', of.snapshotId);
    const row = await query.executeTakeFirst();
    return row && toBlobCopyRow(row);
  },

  /**
   * Moves unused copies to `removing`: copies in progress that no process makes, those of a sandbox that is
   * not in that pause any more, of a snapshot that is not ready, and of an image without a build; but none
   * that is being made, which is asked at the time, or whose maker has its lease. Resolves with all that are
   * `removing`.
   */
  retireBlobCopies: (isBeingMade: (id: string) => boolean): Promise<string[]> =>
    db.transaction().execute((tx) => retireBlobCopies(tx, writer, isBeingMade)),

  /** Deletes the row of a copy that is removed. */
  forgetBlobCopy: async (id: string): Promise<void> => {
    await db.deleteFrom('blobCopies').where('id', '=', id).where('state', '=', 'removing').execute();
  },

  /** The ids of all copies that have a row. */
  listBlobCopyIds: async (): Promise<string[]> =>
    (await db.selectFrom('blobCopies').select('id').execute()).map(({ id }) => id),

  /**
   * Records that a ready snapshot is on that node now. Resolves with false when it is no longer where it was before. Rejects with
   * `unavailable` unless the writer acts for the new node.
   */
  moveSnapshot: (id: string, { from, to }: { from: string | null; to: string }): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      await requireOwned(tx, to, writer);
      const update = tx.updateTable('snapshots').set({ node: to }).where('id', '=', id);
      const here = from === null ? update.where('node', 'is', null) : update.where('node', '=', from);
      const { numUpdatedRows } = await here.where('state', '=', 'ready').executeTakeFirst();
      return numUpdatedRows > 0n;
    }),

  /** Takes a paused sandbox from its node if that pause has a complete copy. Resolves with whether it has been taken. */
  detachSandbox: (id: string): Promise<boolean> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => (await detachSandboxes(tx, { id })) > 0,
    }),

  /**
   * Takes a ready snapshot from its node if it has a complete copy. Resolves with whether it has been taken.
   */
  detachSnapshot: (id: string): Promise<boolean> =>
    writeFenced(db, writer, {
      require: async (tx) => {
        const found = tx.selectFrom('snapshots').select('node').where('id', '=', id);
        await requireOwned(tx, (await found.executeTakeFirst())?.node, writer);
      },
      write: async (tx) => (await detachSnapshots(tx, { id })) > 0,
    }),

  /** Takes everything that has a complete copy, and is not used there, from a node. */
  detachNode: (node: string): Promise<void> =>
    writeFenced(db, writer, {
      require: (tx) => requireOwned(tx, node, writer),
      write: async (tx) => {
        await detachSandboxes(tx, { node });
        await detachSnapshots(tx, { node });
      },
    }),
});
