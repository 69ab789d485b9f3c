import type { Database } from '../migrations.ts';
import type { Unstored } from './stored-store.ts';

const listSandboxes = (db: Database) =>
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

/** The ready snapshots to which a tag points, or which are the checkpoint of a build with a tag. */
const selectKept = (db: Database) =>
  db
    .selectFrom('snapshots')
    .select(['snapshots.id as id', 'snapshots.node as node'])
    .where('snapshots.state', '=', 'ready')
    .where(({ or, exists, selectFrom }) =>
      or([
        exists(
          selectFrom('template_tags')
            .select('template_tags.tag')
            .whereRef('template_tags.snapshot_id', '=', 'snapshots.id'),
        ),
        exists(
          selectFrom('builds')
            .innerJoin('build_tags', 'build_tags.build_id', 'builds.id')
            .select('builds.id')
            .whereRef('builds.checkpoint_id', '=', 'snapshots.id'),
        ),
      ]),
    )
    .orderBy('snapshots.created_at')
    .orderBy('snapshots.id');

const listSnapshots = (db: Database) =>
  selectKept(db)
    .where('snapshots.node', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('stored_snapshots')
            .select('stored_snapshots.id')
            .whereRef('stored_snapshots.snapshot_id', '=', 'snapshots.id')
            .where('stored_snapshots.state', 'in', ['storing', 'stored']),
        ),
      ),
    )
    .execute();

/** See `StoredStore.listKeptSnapshots`. */
export const listKeptSnapshots = async (db: Database, node: string): Promise<string[]> => {
  const rows = await selectKept(db).where('snapshots.node', '=', node).execute();
  return rows.map(({ id }) => id);
};

const listImages = (db: Database) =>
  db
    .selectFrom('builds')
    .select('builds.image as image')
    .distinct()
    .where('builds.state', '=', 'ready')
    .where('builds.image', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('stored_snapshots')
            .select('stored_snapshots.id')
            .whereRef('stored_snapshots.image', '=', 'builds.image')
            .where('stored_snapshots.state', 'in', ['storing', 'stored']),
        ),
      ),
    )
    .orderBy('image')
    .execute();

/** See `StoredStore.listUnstored`. */
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
