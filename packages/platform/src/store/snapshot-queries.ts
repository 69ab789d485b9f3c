import type { Database } from './migrations.ts';
import {
  ALIVE_STATES,
  type SnapshotPlace,
  type SnapshotRow,
  type SnapshotStore,
  type TaggedSnapshot,
} from './store.ts';

const fields = [
  'snapshots.id as id',
  'snapshots.sandbox_id as sandboxId',
  'snapshots.parent_id as parentId',
  'snapshots.build_id as buildId',
  'snapshots.state as state',
  'snapshots.kind as kind',
  'snapshots.created_at as createdAt',
  'snapshots.cpu_count as cpuCount',
  'snapshots.memory_mb as memoryMb',
  'snapshots.disk_mb as diskMb',
  'snapshots.node as node',
] as const;

const selectTagged = (db: Database) =>
  db
    .selectFrom('template_tags')
    .innerJoin('snapshots', 'snapshots.id', 'template_tags.snapshot_id')
    .leftJoin('template_names', 'template_names.template_id', 'template_tags.template_id')
    .select([
      ...fields,
      'template_tags.template_id as templateId',
      'template_names.name as templateName',
      'template_tags.tag as tag',
    ]);

const isUsed = async (db: Database, by: { templateId: string; snapshotId?: string }): Promise<boolean> => {
  let query = db
    .selectFrom('sandboxes')
    .select('id')
    .where('state', 'in', ALIVE_STATES)
    .where('template_id', '=', by.templateId);
  if (by.snapshotId !== undefined) query = query.where('snapshot_id', '=', by.snapshotId);
  return (await query.limit(1).executeTakeFirst()) !== undefined;
};

const retireUnused = async (db: Database): Promise<void> => {
  const found = await db
    .selectFrom('snapshots')
    .select('id')
    .where('state', '=', 'ready')
    .where(({ and, not, exists, selectFrom }) =>
      and([
        not(
          exists(
            selectFrom('template_tags')
              .select('tag')
              .whereRef('template_tags.snapshot_id', '=', 'snapshots.id'),
          ),
        ),
        not(
          exists(
            selectFrom('sandboxes')
              .select('sandboxes.id')
              .whereRef('sandboxes.snapshot_id', '=', 'snapshots.id')
              .where('sandboxes.state', 'in', ALIVE_STATES),
          ),
        ),
        not(
          exists(
            selectFrom('build_cache')
              .select('build_cache.key')
              .whereRef('build_cache.snapshot_id', '=', 'snapshots.id'),
          ),
        ),
        not(
          exists(
            selectFrom('build_tags')
              .innerJoin('builds', 'builds.id', 'build_tags.build_id')
              .select('build_tags.tag')
              .whereRef('builds.checkpoint_id', '=', 'snapshots.id'),
          ),
        ),
      ]),
    )
    .execute();
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return;
  await db.updateTable('snapshots').set({ state: 'removing' }).where('id', 'in', ids).execute();
};

const findByName = (db: Database, name: string) =>
  db
    .selectFrom('template_names')
    .innerJoin('templates', 'templates.id', 'template_names.template_id')
    .select(['templates.id as id', 'templates.kind as kind'])
    .where('template_names.name', '=', name)
    .executeTakeFirst();

/** Creates the template of a snapshot that is the first of its name, or has no name. */
const addTemplate = async (db: Database, place: SnapshotPlace, of: SnapshotRow): Promise<void> => {
  await db
    .insertInto('templates')
    .values({
      id: place.templateId,
      kind: 'snapshot',
      created_at: of.createdAt,
      cpu_count: of.cpuCount,
      memory_mb: of.memoryMb,
      disk_mb: of.diskMb,
    })
    .execute();
  if (place.name === null) return;
  await db.insertInto('template_names').values({ name: place.name, template_id: place.templateId }).execute();
};

const findRow = (db: Database, id: string): Promise<SnapshotRow | undefined> =>
  db
    .selectFrom('snapshots')
    .select([...fields, 'snapshots.template_id as templateId'])
    .where('snapshots.id', '=', id)
    .executeTakeFirst();

/** The snapshot part of a store, in portable SQL. */
export const createSnapshotQueries = (db: Database): SnapshotStore => ({
  beginSnapshot: async (snapshot) => {
    await db
      .insertInto('snapshots')
      .values({
        id: snapshot.id,
        template_id: null,
        sandbox_id: snapshot.sandboxId,
        parent_id: snapshot.parentId,
        build_id: snapshot.buildId,
        state: 'making',
        kind: snapshot.kind,
        created_at: snapshot.createdAt,
        cpu_count: snapshot.cpuCount,
        memory_mb: snapshot.memoryMb,
        disk_mb: snapshot.diskMb,
        node: snapshot.node ?? null,
      })
      .execute();
  },

  publishSnapshot: (id, place) =>
    db.transaction().execute(async (tx): Promise<TaggedSnapshot | 'taken' | undefined> => {
      const row = await findRow(tx, id);
      if (row?.state !== 'making') return undefined;
      const known = place.name === null ? undefined : await findByName(tx, place.name);
      if (known !== undefined && known.kind !== 'snapshot') return 'taken';
      const templateId = known?.id ?? place.templateId;
      if (known === undefined) await addTemplate(tx, place, row);
      await tx
        .updateTable('snapshots')
        .set({ state: 'ready', template_id: templateId })
        .where('id', '=', id)
        .execute();
      await tx
        .insertInto('template_tags')
        .values({ template_id: templateId, tag: place.tag, snapshot_id: id })
        .onConflict((on) => on.columns(['template_id', 'tag']).doUpdateSet({ snapshot_id: id }))
        .execute();
      await retireUnused(tx);
      return { ...row, state: 'ready', templateId, templateName: place.name, tag: place.tag };
    }),

  findSnapshot: async (templateId, tag) =>
    selectTagged(db)
      .where('template_tags.template_id', '=', templateId)
      .where('template_tags.tag', '=', tag)
      .executeTakeFirst(),

  findTagOf: async (id) => selectTagged(db).where('snapshots.id', '=', id).executeTakeFirst(),

  findSnapshotRow: (id) => findRow(db, id),

  listSnapshots: async ({ sandboxId, templateId, limit, after }) => {
    let query = selectTagged(db).orderBy('snapshots.created_at', 'desc').orderBy('snapshots.id', 'desc');
    if (sandboxId !== undefined) query = query.where('snapshots.sandbox_id', '=', sandboxId);
    if (templateId !== undefined) query = query.where('template_tags.template_id', '=', templateId);
    if (after !== undefined) {
      query = query.where((eb) =>
        eb.or([
          eb('snapshots.created_at', '<', after.createdAt),
          eb.and([eb('snapshots.created_at', '=', after.createdAt), eb('snapshots.id', '<', after.id)]),
        ]),
      );
    }
    if (limit !== undefined) query = query.limit(limit);
    return query.execute();
  },

  listSnapshotIds: async (state) => {
    const rows = await db.selectFrom('snapshots').select('id').where('state', '=', state).execute();
    return rows.map(({ id }) => id);
  },

  retireSnapshots: ({ templateId, tag, buildId }) =>
    db.transaction().execute(async (tx): Promise<'retired' | 'in_use' | 'not_found'> => {
      let query = tx.selectFrom('template_tags').selectAll().where('template_id', '=', templateId);
      if (tag !== undefined) query = query.where('tag', '=', tag);
      if (buildId !== undefined) query = query.where('snapshot_id', '=', buildId);
      const [found] = await query.execute();
      if (found === undefined) return 'not_found';
      const isWhole = tag === undefined && buildId === undefined;
      const used = isWhole ? { templateId } : { templateId, snapshotId: found.snapshot_id };
      if (await isUsed(tx, used)) return 'in_use';
      let removal = tx.deleteFrom('template_tags').where('template_id', '=', templateId);
      if (tag !== undefined) removal = removal.where('tag', '=', tag);
      if (buildId !== undefined) removal = removal.where('snapshot_id', '=', buildId);
      await removal.execute();
      await retireUnused(tx);
      const left = await tx
        .selectFrom('template_tags')
        .select('tag')
        .where('template_id', '=', templateId)
        .executeTakeFirst();
      if (left !== undefined) return 'retired';
      await tx.deleteFrom('template_names').where('template_id', '=', templateId).execute();
      await tx.deleteFrom('templates').where('id', '=', templateId).execute();
      return 'retired';
    }),

  retireUnused: () => db.transaction().execute(retireUnused),

  forgetSnapshot: (id) =>
    db.transaction().execute(async (tx) => {
      await tx.updateTable('snapshots').set({ state: 'removed' }).where('id', '=', id).execute();
      await tx
        .deleteFrom('snapshots')
        .where('state', '=', 'removed')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('snapshots as child')
                .select('child.id')
                .whereRef('child.parent_id', '=', 'snapshots.id'),
            ),
          ),
        )
        .execute();
    }),
});
