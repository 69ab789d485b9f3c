import { isAfter } from './newest-first.ts';
import {
  ALIVE_STATES,
  type NewSnapshot,
  type SnapshotQuery,
  type SnapshotRow,
  type SnapshotState,
  type SnapshotTag,
  type TaggedSnapshot,
} from './rows.ts';
import type { Database } from './schema.ts';
import { isOwned, type Scope } from './scope.ts';
import type { TemplatePart } from './tags/tag-rows.ts';
import { deleteTemplate, insertTemplate, selectNamed } from './template-queries.ts';

const selectTagged = (db: Database) =>
  db
    .selectFrom('templateTags')
    .innerJoin('snapshots', 'snapshots.id', 'templateTags.snapshotId')
    .innerJoin('templates', 'templates.id', 'templateTags.templateId')
    .leftJoin('templateNames', 'templateNames.templateId', 'templateTags.templateId')
    .selectAll('snapshots')
    .select(['templateTags.templateId', 'templateNames.name as templateName', 'templateTags.tag']);

/** Makes a snapshot in state `making` ready. */
export const makeReady = async (
  db: Database,
  id: string,
  set: { templateId?: string } = {},
): Promise<void> => {
  await db
    .updateTable('snapshots')
    .set({ state: 'ready', ...set })
    .where('id', '=', id)
    .where('state', '=', 'making')
    .execute();
};

const isUsed = async (db: Database, by: { templateId: string; snapshotId?: string }): Promise<boolean> => {
  let query = db
    .selectFrom('sandboxes')
    .select('id')
    .where('state', 'in', ALIVE_STATES)
    .where('templateId', '=', by.templateId);
  if (by.snapshotId !== undefined) query = query.where('snapshotId', '=', by.snapshotId);
  return (await query.limit(1).executeTakeFirst()) !== undefined;
};

const retireUnused = async (db: Database): Promise<void> => {
  await db
    .updateTable('snapshots')
    .set({ state: 'removing' })
    .where('state', '=', 'ready')
    .where(({ not, or, exists, selectFrom }) =>
      not(
        or([
          exists(
            selectFrom('templateTags').select('tag').whereRef('templateTags.snapshotId', '=', 'snapshots.id'),
          ),
          exists(
            selectFrom('sandboxes')
              .select('sandboxes.id')
              .whereRef('sandboxes.snapshotId', '=', 'snapshots.id')
              .where('sandboxes.state', 'in', ALIVE_STATES),
          ),
          exists(
            selectFrom('buildCache')
              .select('buildCache.key')
              .whereRef('buildCache.snapshotId', '=', 'snapshots.id'),
          ),
          exists(
            selectFrom('buildTags')
              .innerJoin('builds', 'builds.id', 'buildTags.buildId')
              .select('buildTags.tag')
              .whereRef('builds.checkpointId', '=', 'snapshots.id'),
          ),
        ]),
      ),
    )
    .execute();
};

const findRow = (db: Database, id: string): Promise<SnapshotRow | undefined> =>
  db.selectFrom('snapshots').selectAll().where('id', '=', id).executeTakeFirst();

/** The snapshots of a store, in portable SQL. */
export const createSnapshotQueries = (db: Database) => ({
  /** Writes a row in state `making`. */
  beginSnapshot: async (snapshot: NewSnapshot): Promise<void> => {
    await db
      .insertInto('snapshots')
      .values({ node: null, ...snapshot, state: 'making', templateId: null })
      .execute();
  },

  /**
   * Makes a snapshot ready and points a tag to it, in one transaction: a tag of the template of that name, created
   * first when it is missing, or of a new one without a name. A snapshot that the tag pointed to before loses it.
   * `taken` when the name is that of another kind of template; undefined when the row is not in state `making`.
   */
  publishSnapshot: (id: string, to: SnapshotTag) =>
    db.transaction().execute(async (tx): Promise<TaggedSnapshot | 'taken' | undefined> => {
      const row = await findRow(tx, id);
      if (row?.state !== 'making') return undefined;
      const { name, tag } = to;
      const { project } = row;
      const known = name === null ? undefined : await selectNamed(tx, { project, name }).executeTakeFirst();
      if (known !== undefined && known.kind !== 'snapshot') return 'taken';
      const templateId = known?.id ?? to.templateId;
      const { createdAt, cpuCount, memoryMb, diskMb } = row;
      if (known === undefined)
        await insertTemplate(tx, {
          ...{ id: templateId, project, name, kind: 'snapshot', public: false },
          ...{ createdAt, cpuCount, memoryMb, diskMb },
        });
      await makeReady(tx, id, { templateId });
      await tx
        .insertInto('templateTags')
        .values({ templateId, tag, snapshotId: id })
        .onConflict((on) => on.columns(['templateId', 'tag']).doUpdateSet({ snapshotId: id }))
        .execute();
      await retireUnused(tx);
      return { ...row, state: 'ready', templateId, templateName: name, tag };
    }),

  /** The snapshot that a tag points to. */
  findSnapshot: (templateId: string, tag: string): Promise<TaggedSnapshot | undefined> =>
    selectTagged(db)
      .where('templateTags.templateId', '=', templateId)
      .where('templateTags.tag', '=', tag)
      .executeTakeFirst(),

  /** The tag that points to the snapshot of that id. */
  findTagOf: (id: string): Promise<TaggedSnapshot | undefined> =>
    selectTagged(db).where('snapshots.id', '=', id).executeTakeFirst(),

  /** Finds a snapshot by its own id, in any state. */
  findSnapshotRow: (id: string) => findRow(db, id),

  /** Finds a snapshot by its own id, in any state, that belongs to the project of a caller or has a tag of a public template. */
  findVisibleSnapshot: (id: string, scope: Scope): Promise<SnapshotRow | undefined> =>
    db
      .selectFrom('snapshots')
      .selectAll()
      .where('id', '=', id)
      .where(({ or, exists, selectFrom }) =>
        or([
          isOwned('snapshots.project', scope),
          exists(
            selectFrom('templateTags')
              .innerJoin('templates', 'templates.id', 'templateTags.templateId')
              .select('templates.id')
              .whereRef('templateTags.snapshotId', '=', 'snapshots.id')
              .where('templates.public', '=', true),
          ),
        ]),
      )
      .executeTakeFirst(),

  /** The tagged snapshots, newest first, ties by id. */
  listSnapshots: ({
    scope,
    sandboxId,
    templateId,
    limit,
    after,
  }: SnapshotQuery): Promise<TaggedSnapshot[]> => {
    let query = selectTagged(db).orderBy('snapshots.createdAt', 'desc').orderBy('snapshots.id', 'desc');
    if (scope !== undefined) query = query.where(isOwned('snapshots.project', scope));
    if (sandboxId !== undefined) query = query.where('snapshots.sandboxId', '=', sandboxId);
    if (templateId !== undefined) query = query.where('templateTags.templateId', '=', templateId);
    if (after !== undefined) query = query.where(isAfter('snapshots', after));
    if (limit !== undefined) query = query.limit(limit);
    return query.execute();
  },

  /** Ids of the rows in that state. */
  listSnapshotIds: async (state: SnapshotState): Promise<string[]> => {
    const rows = await db.selectFrom('snapshots').select('id').where('state', '=', state).execute();
    return rows.map(({ id }) => id);
  },

  /**
   * Deletes a template of snapshots, or a part of it, in one transaction with the check that no running or paused sandbox was created
   * from it. Snapshots without a tag become `removing`.
   */
  retireSnapshots: ({ templateId, tag, buildId }: TemplatePart) =>
    db.transaction().execute(async (tx): Promise<'retired' | 'in_use' | 'not_found'> => {
      let query = tx.selectFrom('templateTags').selectAll().where('templateId', '=', templateId);
      if (tag !== undefined) query = query.where('tag', '=', tag);
      if (buildId !== undefined) query = query.where('snapshotId', '=', buildId);
      const [found] = await query.execute();
      if (found === undefined) return 'not_found';
      const isWhole = tag === undefined && buildId === undefined;
      const used = isWhole ? { templateId } : { templateId, snapshotId: found.snapshotId };
      if (await isUsed(tx, used)) return 'in_use';
      let removal = tx.deleteFrom('templateTags').where('templateId', '=', templateId);
      if (tag !== undefined) removal = removal.where('tag', '=', tag);
      if (buildId !== undefined) removal = removal.where('snapshotId', '=', buildId);
      await removal.execute();
      await retireUnused(tx);
      const left = tx.selectFrom('templateTags').select('tag').where('templateId', '=', templateId);
      if ((await left.executeTakeFirst()) === undefined) await deleteTemplate(tx, templateId);
      return 'retired';
    }),

  /** Moves ready snapshots without a tag and a sandbox, which are no checkpoint of a tagged build and not in the cache of builds, to `removing`. */
  retireUnused: (): Promise<void> => db.transaction().execute(retireUnused),

  /**
   * Closes the row of a snapshot whose files are gone: kept as `removed` while another snapshot descends from it, else
   * deleted.
   */
  forgetSnapshot: (id: string): Promise<void> =>
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
                .whereRef('child.parentId', '=', 'snapshots.id'),
            ),
          ),
        )
        .execute();
    }),
});
