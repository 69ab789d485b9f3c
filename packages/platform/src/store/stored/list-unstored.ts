import type { Database } from '../schema.ts';
import type { Unstored } from './stored-rows.ts';

const listSandboxes = (db: Database) =>
  db
    .selectFrom('sandboxes')
    .select(['id', 'node', 'pausedAt'])
    .where('state', '=', 'paused')
    .where('node', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('storedSnapshots')
            .select('storedSnapshots.id')
            .whereRef('storedSnapshots.sandboxId', '=', 'sandboxes.id')
            .whereRef('storedSnapshots.pausedAt', '=', 'sandboxes.pausedAt')
            .where('storedSnapshots.state', 'in', ['storing', 'stored']),
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
          selectFrom('storedSnapshots')
            .select('storedSnapshots.id')
            .whereRef('storedSnapshots.snapshotId', '=', 'snapshots.id')
            .where('storedSnapshots.state', 'in', ['storing', 'stored']),
        ),
      ),
    )
    .execute();

/** The snapshots on a node that `listUnstored` would list without their copies. */
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
          selectFrom('storedSnapshots')
            .select('storedSnapshots.id')
            .whereRef('storedSnapshots.image', '=', 'builds.image')
            .where('storedSnapshots.state', 'in', ['storing', 'stored']),
        ),
      ),
    )
    .orderBy('image')
    .execute();

/**
 * What lacks a copy, or one in progress: paused sandboxes on a node, and snapshots on a node that a tag points to or that are the
 * checkpoint of a build with a tag; then images of builds. Those that are oldest first.
 */
export const listUnstored = async (db: Database): Promise<Unstored[]> => {
  const sandboxes = await listSandboxes(db);
  const snapshots = await listSnapshots(db);
  const images = await listImages(db);
  return [
    ...sandboxes.map((row): Unstored => ({ kind: 'sandbox', ...row, node: row.node ?? '' })),
    ...snapshots.map((row): Unstored => ({ kind: 'snapshot', ...row, node: row.node ?? '' })),
    ...images.map(({ image }): Unstored => ({ kind: 'image', id: image ?? '' })),
  ];
};
