import type { Selectable } from 'kysely';
import type { BuildLogLevel, BuildReason, BuildRow, BuildStore, StartCommands } from './build-store.ts';
import type { BuildTable } from './build-tables.ts';
import type { Database } from './migrations.ts';
import { readLogPage } from './read-log-page.ts';
import { pointTags } from './tags/point-tags.ts';
import { retireImages } from './tags/retire-images.ts';
import { selectTemplates } from './template-queries.ts';

const toReason = (message: string, step: string | null): BuildReason => ({
  message,
  ...(step !== null && { step }),
});

export const toBuildRow = (row: Selectable<BuildTable>): BuildRow => ({
  id: row.id,
  templateId: row.template_id,
  state: row.state,
  createdAt: row.created_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  cpuCount: row.cpu_count,
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  minFreeDiskMb: row.min_free_disk_mb,
  tags: JSON.parse(row.tags) as string[],
  env: JSON.parse(row.env) as Record<string, string>,
  image: row.image,
  imageBytes: row.image_bytes,
  start: row.start_commands === null ? null : (JSON.parse(row.start_commands) as StartCommands),
  checkpointId: row.checkpoint_id,
  reason: row.reason === null ? null : toReason(row.reason, row.reason_step),
});

const findRow = async (db: Database, id: string): Promise<BuildRow | undefined> => {
  const row = await db.selectFrom('builds').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toBuildRow(row);
};

const fail = async (
  db: Database,
  ids: readonly string[],
  { finishedAt, reason }: { finishedAt: number; reason: BuildReason },
): Promise<void> => {
  if (ids.length === 0) return;
  await db
    .updateTable('builds')
    .set({
      state: 'error',
      finished_at: finishedAt,
      reason: reason.message,
      reason_step: reason.step ?? null,
    })
    .where('id', 'in', ids)
    .where('state', 'in', ['waiting', 'building'])
    .execute();
};

const selectLog = (db: Database, id: string, levels: readonly BuildLogLevel[]) =>
  db
    .selectFrom('build_logs')
    .select(['at', 'level', 'message', 'step'])
    .where('build_id', '=', id)
    .where('level', 'in', levels);

/** The build part of a store without its tags, in portable SQL. */
export const createBuildQueries = (db: Database): BuildStore => ({
  addBuild: (build, { templateId, name, superseded, maxUnfinished = Infinity }) =>
    db.transaction().execute(async (tx): Promise<BuildRow | 'taken' | 'limit'> => {
      const known = await selectTemplates(tx).where('template_names.name', '=', name).executeTakeFirst();
      if (known !== undefined && known.kind !== 'build') return 'taken';
      const size = { cpu_count: build.cpuCount, memory_mb: build.memoryMb, disk_mb: build.diskMb };
      const of = known?.id ?? templateId;
      const { unfinished } = await tx
        .selectFrom('builds')
        .select((eb) => eb.fn.countAll().as('unfinished'))
        .where('state', 'in', ['waiting', 'building'])
        .where('template_id', '!=', of)
        .executeTakeFirstOrThrow();
      if (Number(unfinished) >= maxUnfinished) return 'limit';
      if (known === undefined) {
        await tx
          .insertInto('templates')
          .values({ id: of, kind: 'build', created_at: build.createdAt, ...size })
          .execute();
        await tx.insertInto('template_names').values({ name, template_id: of }).execute();
      }
      const waiting = await tx
        .selectFrom('builds')
        .select('id')
        .where('template_id', '=', of)
        .where('state', '=', 'waiting')
        .execute();
      const reason = { message: superseded };
      await fail(
        tx,
        waiting.map(({ id }) => id),
        { finishedAt: build.createdAt, reason },
      );
      const row = await tx
        .insertInto('builds')
        .values({
          id: build.id,
          template_id: of,
          state: 'waiting',
          created_at: build.createdAt,
          started_at: null,
          finished_at: null,
          ...size,
          min_free_disk_mb: build.minFreeDiskMb,
          tags: JSON.stringify(build.tags),
          env: '{}',
          image: null,
          image_bytes: null,
          reason: null,
          reason_step: null,
          start_commands: null,
          checkpoint_id: null,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return toBuildRow(row);
    }),

  startBuild: async (id, startedAt) => {
    const row = await db
      .updateTable('builds')
      .set({ state: 'building', started_at: startedAt })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .returningAll()
      .executeTakeFirst();
    return row && toBuildRow(row);
  },

  finishBuild: (id, { finishedAt, image, imageBytes, env, start, checkpointId }) =>
    db.transaction().execute(async (tx) => {
      const row = await tx
        .updateTable('builds')
        .set({
          state: 'ready',
          finished_at: finishedAt,
          image,
          image_bytes: imageBytes,
          env: JSON.stringify(env),
          start_commands: start && JSON.stringify(start),
          checkpoint_id: checkpointId,
        })
        .where('id', '=', id)
        .where('state', '=', 'building')
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const build = toBuildRow(row);
      if (checkpointId !== null)
        await tx
          .updateTable('snapshots')
          .set({ state: 'ready', template_id: build.templateId })
          .where('id', '=', checkpointId)
          .where('state', '=', 'making')
          .execute();
      await pointTags(tx, {
        templateId: build.templateId,
        buildId: id,
        tags: build.tags,
        requestedAt: build.createdAt,
        at: finishedAt,
      });
      await retireImages(tx);
      return build;
    }),

  failBuild: (id, failure) =>
    db.transaction().execute(async (tx) => {
      const before = await findRow(tx, id);
      if (before?.state !== 'waiting' && before?.state !== 'building') return undefined;
      await fail(tx, [id], failure);
      return findRow(tx, id);
    }),

  findBuild: (id) => findRow(db, id),

  listBuilds: async (templateId, { limit, after }) => {
    let query = db
      .selectFrom('builds')
      .selectAll()
      .where('template_id', '=', templateId)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    if (after !== undefined) {
      query = query.where((eb) =>
        eb.or([
          eb('created_at', '<', after.createdAt),
          eb.and([eb('created_at', '=', after.createdAt), eb('id', '<', after.id)]),
        ]),
      );
    }
    return (await query.execute()).map(toBuildRow);
  },

  listBuildIds: async (state, { createdBefore } = { createdBefore: Number.MAX_SAFE_INTEGER }) => {
    const rows = await db
      .selectFrom('builds')
      .select('id')
      .where('state', '=', state)
      .where('created_at', '<', createdBefore)
      .execute();
    return rows.map(({ id }) => id);
  },

  addBuildLog: (id, entries) =>
    db.transaction().execute(async (tx) => {
      if ((await findRow(tx, id)) === undefined) return;
      const { count } = await tx
        .selectFrom('build_logs')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('build_id', '=', id)
        .executeTakeFirstOrThrow();
      for (const [index, { at, level, message, step }] of entries.entries()) {
        await tx
          .insertInto('build_logs')
          .values({ build_id: id, position: Number(count) + index, at, level, message, step })
          .execute();
      }
    }),

  listBuildLog: (id, { levels, offset, limit }) =>
    selectLog(db, id, levels).orderBy('position').offset(offset).limit(limit).execute(),

  pageBuildLog: (id, { levels, ...page }) =>
    readLogPage(page, ({ from, to, limit }) => {
      let query = selectLog(db, id, levels).orderBy('at', page.order).orderBy('position', page.order);
      if (from !== undefined) query = query.where('at', '>=', from);
      if (to !== undefined) query = query.where('at', '<=', to);
      if (limit !== undefined) query = query.limit(limit);
      return query.execute();
    }),
});
