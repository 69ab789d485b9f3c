import type { Writer } from '../leases/fence.ts';
import type { Database } from '../schema.ts';

/** States in which a sandbox is in the pause of its row: a resume may fail. */
const IN_PAUSE = ['paused', 'resuming'] as const;

/** The copies in progress that are made now: by this process, which is asked, or by another server that has its lease. */
const listLive = async (
  db: Database,
  writer: Writer,
  isBeingMade: (id: string) => boolean,
): Promise<Set<string>> => {
  const begun = await db
    .selectFrom('blobCopies')
    .leftJoin('leases', 'leases.name', 'blobCopies.lease')
    .select(['blobCopies.id', 'blobCopies.owner', 'leases.owner as holder'])
    .where('blobCopies.state', '=', 'copying')
    .execute();
  const mine = writer.owner ?? null;
  const isLive = ({ id, owner, holder }: (typeof begun)[number]): boolean =>
    owner === mine ? isBeingMade(id) : mine !== null && owner !== null && owner === holder;
  return new Set(begun.filter(isLive).map(({ id }) => id));
};

/** Copies whose sandbox is not in that pause, whose snapshot is not ready, or whose image is that of no build. */
const listUseless = async (db: Database): Promise<string[]> => {
  const rows = await db
    .selectFrom('blobCopies')
    .select('id')
    .where('state', '!=', 'removing')
    .where(({ and, or, eb, not, exists, selectFrom }) =>
      or([
        and([
          eb('sandboxId', 'is not', null),
          not(
            exists(
              selectFrom('sandboxes')
                .select('sandboxes.id')
                .whereRef('sandboxes.id', '=', 'blobCopies.sandboxId')
                .whereRef('sandboxes.pausedAt', '=', 'blobCopies.pausedAt')
                .where('sandboxes.state', 'in', IN_PAUSE),
            ),
          ),
        ]),
        and([
          eb('snapshotId', 'is not', null),
          not(
            exists(
              selectFrom('snapshots')
                .select('snapshots.id')
                .whereRef('snapshots.id', '=', 'blobCopies.snapshotId')
                .where('snapshots.state', '=', 'ready'),
            ),
          ),
        ]),
        and([
          eb('image', 'is not', null),
          not(
            exists(
              selectFrom('builds').select('builds.id').whereRef('builds.image', '=', 'blobCopies.image'),
            ),
          ),
        ]),
      ]),
    )
    .execute();
  return rows.map(({ id }) => id);
};

/** Does what `retireBlobCopies` of the store does, in the transaction of the caller. */
export const retireBlobCopies = async (
  tx: Database,
  writer: Writer,
  isBeingMade: (id: string) => boolean,
): Promise<string[]> => {
  const live = await listLive(tx, writer, isBeingMade);
  const begun = await tx.selectFrom('blobCopies').select('id').where('state', '=', 'copying').execute();
  const retire = async (ids: readonly string[]): Promise<void> => {
    const idle = ids.filter((id) => !live.has(id));
    if (idle.length === 0) return;
    await tx.updateTable('blobCopies').set({ state: 'removing' }).where('id', 'in', idle).execute();
  };
  await retire(begun.map(({ id }) => id));
  await retire(await listUseless(tx));
  const removing = tx.selectFrom('blobCopies').select('id').where('state', '=', 'removing');
  return (await removing.orderBy('id').execute()).map(({ id }) => id);
};
