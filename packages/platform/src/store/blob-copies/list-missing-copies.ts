import type { Database } from '../schema.ts';
import type { MissingCopy } from './copy-rows.ts';

const listSandboxes = (db: Database) =>
  db
    .selectFrom('sandboxes')
    .select(['id', 'node', 'pausedAt'])
    .where('state', '=', 'paused')
    .where('node', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('blobCopies')
            .select('blobCopies.id')
            .whereRef('blobCopies.sandboxId', '=', 'sandboxes.id')
            .whereRef('blobCopies.pausedAt', '=', 'sandboxes.pausedAt')
            .where('blobCopies.state', 'in', ['copying', 'complete']),
        ),
      ),
    )
    .orderBy('pausedAt')
    .orderBy('id')
    .execute();

/** The ready snapshots to which a tag points, or which are the checkpoint of a build with a tag. */
const selectKept = (db: Database) =>
  db
    .selectFrom('snapshots')
    .select(['snapshots.id', 'snapshots.node'])
    .where('snapshots.state', '=', 'ready')
    .where(({ or, exists, selectFrom }) =>
      or([
        exists(
          selectFrom('templateTags')
            .select('templateTags.tag')
            .whereRef('templateTags.snapshotId', '=', 'snapshots.id'),
        ),
        exists(
          selectFrom('builds')
            .innerJoin('buildTags', 'buildTags.buildId', 'builds.id')
            .select('builds.id')
            .whereRef('builds.checkpointId', '=', 'snapshots.id'),
        ),
      ]),
    )
    .orderBy('snapshots.createdAt')
    .orderBy('snapshots.id');

const listSnapshots = (db: Database) =>
  selectKept(db)
    .where('snapshots.node', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('blobCopies')
            .select('blobCopies.id')
            .whereRef('blobCopies.snapshotId', '=', 'snapshots.id')
            .where('blobCopies.state', 'in', ['copying', 'complete']),
        ),
      ),
    )
    .execute();

/** The snapshots on a node that `listMissingCopies` would list without their copies. */
export const listKeptSnapshots = async (db: Database, node: string): Promise<string[]> => {
  const rows = await selectKept(db).where('snapshots.node', '=', node).execute();
  return rows.map(({ id }) => id);
};

const listImages = (db: Database) =>
  db
    .selectFrom('builds')
    .select('builds.image')
    .distinct()
    .where('builds.state', '=', 'ready')
    .where('builds.image', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('blobCopies')
            .select('blobCopies.id')
            .whereRef('blobCopies.image', '=', 'builds.image')
            .where('blobCopies.state', 'in', ['copying', 'complete']),
        ),
      ),
    )
    .orderBy('image')
    .execute();

/**
 * What lacks a copy, or one in progress: paused sandboxes on a node, and snapshots on a node that a tag points to or that are the
 * checkpoint of a build with a tag; then images of builds. Those that are oldest first.
 */
export const listMissingCopies = async (db: Database): Promise<MissingCopy[]> => {
  const sandboxes = await listSandboxes(db);
  const snapshots = await listSnapshots(db);
  const images = await listImages(db);
  return [
    ...sandboxes.map((row): MissingCopy => ({ kind: 'sandbox', ...row, node: row.node ?? '' })),
    ...snapshots.map((row): MissingCopy => ({ kind: 'snapshot', ...row, node: row.node ?? '' })),
    ...images.map(({ image }): MissingCopy => ({ kind: 'image', id: image ?? '' })),
  ];
};
