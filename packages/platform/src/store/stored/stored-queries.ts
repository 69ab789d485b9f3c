import type { Selectable } from 'kysely';
import { requireOwned, requireOwnedSandbox, type Writer, writeFenced } from '../leases/fence.ts';
import type { Database } from '../migrations.ts';
import { listKeptSnapshots, listUnstored } from './list-unstored.ts';
import { retireStored } from './retire-stored.ts';
import type { StoredRow, StoredStore, StoredSubject } from './stored-store.ts';
import type { StoredSnapshotTable } from './stored-tables.ts';

const toColumns = (of: StoredSubject) => ({
  sandbox_id: 'sandboxId' in of ? of.sandboxId : null,
  paused_at: 'sandboxId' in of ? of.pausedAt : null,
  snapshot_id: 'snapshotId' in of ? of.snapshotId : null,
  image: 'image' in of ? of.image : null,
});

const toSubject = (row: Selectable<StoredSnapshotTable>): StoredSubject => {
  if (row.sandbox_id !== null) return { sandboxId: row.sandbox_id, pausedAt: row.paused_at };
  return row.image === null ? { snapshotId: row.snapshot_id ?? '' } : { image: row.image };
};

const toStoredRow = (row: Selectable<StoredSnapshotTable>): StoredRow => ({
  id: row.id,
  state: 'stored',
  of: toSubject(row),
  createdAt: row.created_at,
  manifestSha256: row.manifest_sha256 ?? '',
  templateDigest: row.template_digest ?? '',
  sizeBytes: row.size_bytes ?? 0,
  ...(row.image_bytes !== null && { imageBytes: row.image_bytes }),
});

/** The sandboxes of one place whose present pause has a complete copy. */
const detachSandboxes = async (db: Database, of: { id: string } | { node: string }): Promise<number> => {
  let update = db.updateTable('sandboxes').set({ node: null }).where('state', '=', 'paused');
  update = 'id' in of ? update.where('id', '=', of.id) : update.where('node', '=', of.node);
  const { numUpdatedRows } = await update
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('stored_snapshots')
          .select('stored_snapshots.id')
          .whereRef('stored_snapshots.sandbox_id', '=', 'sandboxes.id')
          .whereRef('stored_snapshots.paused_at', '=', 'sandboxes.paused_at')
          .where('stored_snapshots.state', '=', 'stored'),
      ),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
};

/** The ready snapshots of one place that have a complete copy. */
const detachSnapshots = async (db: Database, of: { id: string } | { node: string }): Promise<number> => {
  let update = db.updateTable('snapshots').set({ node: null }).where('state', '=', 'ready');
  update = 'id' in of ? update.where('id', '=', of.id) : update.where('node', '=', of.node);
  const { numUpdatedRows } = await update
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('stored_snapshots')
          .select('stored_snapshots.id')
          .whereRef('stored_snapshots.snapshot_id', '=', 'snapshots.id')
          .where('stored_snapshots.state', '=', 'stored'),
      ),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
};

/** The copies in the blob store, in portable SQL. */
export const createStoredQueries = (db: Database, writer: Writer): StoredStore => ({
  listUnstored: () => listUnstored(db),
  listKeptSnapshots: (node) => listKeptSnapshots(db, node),

  beginStored: ({ id, of, lease, createdAt }) =>
    writeFenced(db, writer, {
      require: (tx) => requireOwned(tx, lease, writer),
      write: async (tx) => {
        await tx
          .insertInto('stored_snapshots')
          .values({
            id,
            state: 'storing',
            ...toColumns(of),
            lease,
            owner: writer.owner ?? null,
            created_at: createdAt,
            ...{ manifest_sha256: null, template_digest: null, size_bytes: null, image_bytes: null },
          })
          .execute();
      },
    }),

  finishStored: (id, { manifestSha256, templateDigest, sizeBytes, imageBytes = null }) =>
    db.transaction().execute(async (tx) => {
      const found = tx.selectFrom('stored_snapshots').select(['lease', 'owner']).where('id', '=', id);
      const row = await found.where('state', '=', 'storing').executeTakeFirst();
      if (row === undefined || row.owner !== (writer.owner ?? null)) return false;
      await requireOwned(tx, row.lease, writer);
      await tx
        .updateTable('stored_snapshots')
        .set({
          state: 'stored',
          manifest_sha256: manifestSha256,
          template_digest: templateDigest,
          size_bytes: sizeBytes,
          image_bytes: imageBytes,
        })
        .where('id', '=', id)
        .execute();
      return true;
    }),

  findStored: async (of) => {
    let query = db.selectFrom('stored_snapshots').selectAll().where('state', '=', 'stored');
    if ('sandboxId' in of)
      query = query.where('sandbox_id', '=', of.sandboxId).where('paused_at', '=', of.pausedAt);
    else if ('image' in of) query = query.where('image', '=', of.image);
    else query = query.where('snapshot_id', '=', of.snapshotId);
    const row = await query.executeTakeFirst();
    return row && toStoredRow(row);
  },

  retireStored: (isBeingMade) => db.transaction().execute((tx) => retireStored(tx, writer, isBeingMade)),

  forgetStored: async (id) => {
    await db.deleteFrom('stored_snapshots').where('id', '=', id).where('state', '=', 'removing').execute();
  },

  listStoredIds: async () =>
    (await db.selectFrom('stored_snapshots').select('id').execute()).map(({ id }) => id),

  moveSnapshot: (id, { from, to }) =>
    db.transaction().execute(async (tx) => {
      await requireOwned(tx, to, writer);
      const update = tx.updateTable('snapshots').set({ node: to }).where('id', '=', id);
      const here = from === null ? update.where('node', 'is', null) : update.where('node', '=', from);
      const { numUpdatedRows } = await here.where('state', '=', 'ready').executeTakeFirst();
      return numUpdatedRows > 0n;
    }),

  detachStored: (id) =>
    writeFenced(db, writer, {
      require: (tx) => requireOwnedSandbox(tx, id, writer),
      write: async (tx) => (await detachSandboxes(tx, { id })) > 0,
    }),

  detachSnapshot: (id) =>
    writeFenced(db, writer, {
      require: async (tx) => {
        const found = tx.selectFrom('snapshots').select('node').where('id', '=', id);
        await requireOwned(tx, (await found.executeTakeFirst())?.node, writer);
      },
      write: async (tx) => (await detachSnapshots(tx, { id })) > 0,
    }),

  detachNode: (node) =>
    writeFenced(db, writer, {
      require: (tx) => requireOwned(tx, node, writer),
      write: async (tx) => {
        await detachSandboxes(tx, { node });
        await detachSnapshots(tx, { node });
      },
    }),
});
