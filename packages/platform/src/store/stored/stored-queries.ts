import type { Selectable } from 'kysely';
import type { Database } from '../migrations.ts';
import type { StoredRow, StoredStore, Unstored } from './stored-store.ts';
import type { StoredSnapshotTable } from './stored-tables.ts';

const toStoredRow = (row: Selectable<StoredSnapshotTable>): StoredRow => ({
  id: row.id,
  state: 'stored',
  sandboxId: row.sandbox_id,
  pausedAt: row.paused_at,
  createdAt: row.created_at,
  manifestSha256: row.manifest_sha256 ?? '',
  templateDigest: row.template_digest ?? '',
  sizeBytes: row.size_bytes ?? 0,
});

/** States in which a sandbox is in the pause of its row: a resume may fail. */
const IN_PAUSE = ['paused', 'resuming'] as const;

const listUnstoredSandboxes = (db: Database) =>
  db
    .selectFrom('sandboxes')
    .select(['id', 'node', 'paused_at as pausedAt'])
    .where('state', '=', 'paused')
    .where('node', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('stored_snapshots')
            .select('stored_snapshots.id')
            .whereRef('stored_snapshots.sandbox_id', '=', 'sandboxes.id')
            .whereRef('stored_snapshots.paused_at', '=', 'sandboxes.paused_at')
            .where('stored_snapshots.state', 'in', ['storing', 'stored']),
        ),
      ),
    )
    .orderBy('paused_at')
    .orderBy('id')
    .execute();

const listUnstoredSnapshots = (db: Database) =>
  db
    .selectFrom('snapshots')
    .innerJoin('template_tags', 'template_tags.snapshot_id', 'snapshots.id')
    .select(['snapshots.id as id', 'snapshots.node as node'])
    .distinct()
    .where('snapshots.state', '=', 'ready')
    .where('snapshots.node', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('stored_snapshots')
            .select('stored_snapshots.id')
            .whereRef('stored_snapshots.id', '=', 'snapshots.id'),
        ),
      ),
    )
    .orderBy('id')
    .execute();

/** Copies whose sandbox is not in that pause, or whose snapshot is not ready. */
const listUseless = async (db: Database): Promise<string[]> => {
  const rows = await db
    .selectFrom('stored_snapshots')
    .select('id')
    .where('state', '!=', 'removing')
    .where(({ and, or, eb, not, exists, selectFrom }) =>
      or([
        and([
          eb('sandbox_id', 'is not', null),
          not(
            exists(
              selectFrom('sandboxes')
                .select('sandboxes.id')
                .whereRef('sandboxes.id', '=', 'stored_snapshots.sandbox_id')
                .whereRef('sandboxes.paused_at', '=', 'stored_snapshots.paused_at')
                .where('sandboxes.state', 'in', IN_PAUSE),
            ),
          ),
        ]),
        and([
          eb('sandbox_id', 'is', null),
          not(
            exists(
              selectFrom('snapshots')
                .select('snapshots.id')
                .whereRef('snapshots.id', '=', 'stored_snapshots.id')
                .where('snapshots.state', '=', 'ready'),
            ),
          ),
        ]),
      ]),
    )
    .execute();
  return rows.map(({ id }) => id);
};

/** The sandboxes of one place whose present pause has a complete copy. */
const detach = async (db: Database, of: { id: string } | { node: string }): Promise<number> => {
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

/** The copies in the blob store, in portable SQL. */
export const createStoredQueries = (db: Database): StoredStore => ({
  listUnstored: async () => {
    const [sandboxes, snapshots] = [await listUnstoredSandboxes(db), await listUnstoredSnapshots(db)];
    return [
      ...sandboxes.map((row): Unstored => ({ kind: 'sandbox', ...row, node: row.node ?? '' })),
      ...snapshots.map(
        (row): Unstored => ({ kind: 'snapshot', ...row, node: row.node ?? '', pausedAt: null }),
      ),
    ];
  },

  beginStored: async ({ id, sandboxId, pausedAt, createdAt }) => {
    await db
      .insertInto('stored_snapshots')
      .values({
        id,
        state: 'storing',
        sandbox_id: sandboxId,
        paused_at: pausedAt,
        created_at: createdAt,
        manifest_sha256: null,
        template_digest: null,
        size_bytes: null,
      })
      .execute();
  },

  finishStored: async (id, { manifestSha256, templateDigest, sizeBytes }) => {
    const { numUpdatedRows } = await db
      .updateTable('stored_snapshots')
      .set({
        state: 'stored',
        manifest_sha256: manifestSha256,
        template_digest: templateDigest,
        size_bytes: sizeBytes,
      })
      .where('id', '=', id)
      .where('state', '=', 'storing')
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  },

  findStored: async (of) => {
    let query = db.selectFrom('stored_snapshots').selectAll().where('state', '=', 'stored');
    query =
      'snapshotId' in of
        ? query.where('id', '=', of.snapshotId).where('sandbox_id', 'is', null)
        : query.where('sandbox_id', '=', of.sandboxId).where('paused_at', '=', of.pausedAt);
    const row = await query.executeTakeFirst();
    return row && toStoredRow(row);
  },

  retireStored: (isBeingMade) =>
    db.transaction().execute(async (tx) => {
      const retire = async (ids: readonly string[], states: readonly ('storing' | 'stored')[]) => {
        const idle = ids.filter((id) => !isBeingMade(id));
        if (idle.length === 0) return;
        const retiring = tx
          .updateTable('stored_snapshots')
          .set({ state: 'removing' })
          .where('id', 'in', idle);
        await retiring.where('state', 'in', states).execute();
      };
      const begun = tx.selectFrom('stored_snapshots').select('id').where('state', '=', 'storing');
      // Only while it is in progress: one may have been completed since the line before.
      await retire(
        (await begun.execute()).map(({ id }) => id),
        ['storing'],
      );
      await retire(await listUseless(tx), ['storing', 'stored']);
      const removing = tx.selectFrom('stored_snapshots').select('id').where('state', '=', 'removing');
      return (await removing.orderBy('id').execute()).map(({ id }) => id);
    }),

  forgetStored: async (id) => {
    await db.deleteFrom('stored_snapshots').where('id', '=', id).execute();
  },

  moveSnapshot: async (id, node) => {
    await db
      .updateTable('snapshots')
      .set({ node })
      .where('id', '=', id)
      .where('state', '=', 'ready')
      .execute();
  },

  detachStored: async (id) => (await detach(db, { id })) > 0,

  detachNode: async (node) => {
    await detach(db, { node });
  },
});
