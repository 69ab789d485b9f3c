import type { Updateable } from 'kysely';
import {
  type BuildFailure,
  type BuildLogLevel,
  type BuildLogQuery,
  type BuildLogRow,
  type BuildResult,
  type BuildRow,
  type BuildState,
  emptyRunConfig,
  type NewBuild,
} from './build-rows.ts';
import { json } from './columns.ts';
import { isAfter } from './newest-first.ts';
import { type LogPage, readLogPage } from './read-log-page.ts';
import type { Database, Schema } from './schema.ts';
import type { Sealer } from './sealer.ts';
import { makeReady } from './snapshot-queries.ts';
import { pointTags } from './tags/point-tags.ts';
import { retireImages } from './tags/retire-images.ts';
import { insertTemplate, selectNamed } from './template-queries.ts';

const findRow = (db: Database, id: string): Promise<BuildRow | undefined> =>
  db.selectFrom('builds').selectAll().where('id', '=', id).executeTakeFirst();

/** Changes a build in one of these states. Undefined when there is none. */
const change = (
  db: Database,
  id: string,
  { from, ...set }: { from: BuildState[] } & Updateable<Schema['builds']>,
): Promise<BuildRow | undefined> =>
  db
    .updateTable('builds')
    .set(set)
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst();

const selectLog = (db: Database, id: string, levels: readonly BuildLogLevel[]) =>
  db
    .selectFrom('buildLogs')
    .select(['at', 'level', 'message', 'step'])
    .where('buildId', '=', id)
    .where('level', 'in', levels);

/** The builds of templates without their tags, in portable SQL. */
export const createBuildQueries = (db: Database, { sealer }: { sealer: Sealer }) => ({
  /**
   * Writes a build in state `waiting` of the template of that name, created first when it is missing. Waiting builds of
   * it fail with that reason. `taken` when the name is that of another kind of template, and `limit` when as many builds of other templates
   * as `maxUnfinished` have not ended; then nothing is written.
   */
  addBuild: (
    build: NewBuild,
    {
      templateId,
      name,
      superseded,
      maxUnfinished = Infinity,
    }: { templateId: string; name: string; superseded: string; maxUnfinished?: number },
  ) =>
    db.transaction().execute(async (tx): Promise<BuildRow | 'taken' | 'limit'> => {
      const { project } = build;
      const known = await selectNamed(tx, { project, name }).executeTakeFirst();
      if (known !== undefined && known.kind !== 'build') return 'taken';
      const { tags, minFreeDiskMb, isolation, ...sized } = build;
      const of = known?.id ?? templateId;
      const { unfinished } = await tx
        .selectFrom('builds')
        .select((eb) => eb.fn.countAll().as('unfinished'))
        .where('state', 'in', ['waiting', 'building'])
        .where('templateId', '!=', of)
        .executeTakeFirstOrThrow();
      if (Number(unfinished) >= maxUnfinished) return 'limit';
      if (known === undefined)
        await insertTemplate(tx, { ...sized, id: of, name, kind: 'build', public: false });
      await tx
        .updateTable('builds')
        .set({ state: 'error', finishedAt: build.createdAt, reason: json({ message: superseded }) })
        .where('templateId', '=', of)
        .where('state', '=', 'waiting')
        .execute();
      return tx
        .insertInto('builds')
        .values({
          ...sized,
          templateId: of,
          state: 'waiting',
          startedAt: null,
          finishedAt: null,
          minFreeDiskMb,
          isolation,
          tags: json(tags),
          env: sealer.seal({}, 'env'),
          runConfig: sealer.seal(emptyRunConfig, 'runConfig'),
          image: null,
          imageBytes: null,
          start: null,
          checkpointId: null,
          reason: null,
          request: null,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
    }),

  /** Moves a waiting build to `building`. Undefined when it is in another state or is missing. */
  startBuild: (id: string, startedAt: number, request: string | null = null) =>
    change(db, id, { from: ['waiting'], state: 'building', startedAt, request }),

  /**
   * Makes a build that is `building` ready, points its tags to it, except those that were assigned after its
   * registration, makes its checkpoint ready, and retires the images that nothing needs any more.
   * Undefined when it is in another state.
   */
  finishBuild: (id: string, { env, runConfig, start, ...result }: BuildResult) =>
    db.transaction().execute(async (tx): Promise<BuildRow | undefined> => {
      const build = await change(tx, id, {
        from: ['building'],
        state: 'ready',
        ...result,
        env: sealer.seal(env, 'env'),
        runConfig: sealer.seal(runConfig, 'runConfig'),
        start: sealer.seal(start, 'start'),
      });
      if (build === undefined) return undefined;
      const { templateId, tags, createdAt: requestedAt } = build;
      if (result.checkpointId !== null) await makeReady(tx, result.checkpointId, { templateId });
      await pointTags(tx, { templateId, buildId: id, tags, requestedAt, at: result.finishedAt });
      await retireImages(tx);
      return build;
    }),

  /** Ends a build that is waiting or building. Undefined when it is in another state. */
  failBuild: (id: string, { finishedAt, reason }: BuildFailure) =>
    change(db, id, { from: ['waiting', 'building'], state: 'error', finishedAt, reason: json(reason) }),

  findBuild: (id: string) => findRow(db, id),

  /** Lists the builds of a template that come after that position, newest first, ties by id. */
  listBuilds: (
    templateId: string,
    { limit, after }: { limit: number; after?: { createdAt: number; id: string } },
  ): Promise<BuildRow[]> => {
    const query = db
      .selectFrom('builds')
      .selectAll()
      .where('templateId', '=', templateId)
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    return (after === undefined ? query : query.where(isAfter('builds', after))).execute();
  },

  listBuildIds: async (
    state: BuildState,
    { createdBefore } = { createdBefore: Number.MAX_SAFE_INTEGER },
  ): Promise<string[]> => {
    const rows = await db
      .selectFrom('builds')
      .select('id')
      .where('state', '=', state)
      .where('createdAt', '<', createdBefore)
      .execute();
    return rows.map(({ id }) => id);
  },

  /** Does nothing for a build that was deleted. */
  addBuildLog: (id: string, entries: readonly BuildLogRow[]): Promise<void> =>
    db.transaction().execute(async (tx) => {
      if ((await findRow(tx, id)) === undefined) return;
      const { count } = await tx
        .selectFrom('buildLogs')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('buildId', '=', id)
        .executeTakeFirstOrThrow();
      for (const [index, { at, level, message, step }] of entries.entries()) {
        await tx
          .insertInto('buildLogs')
          .values({ buildId: id, position: Number(count) + index, at, level, message, step })
          .execute();
      }
    }),

  /** Reads entries in the order of their writing. */
  listBuildLog: (
    id: string,
    {
      levels,
      offset,
      limit,
    }: BuildLogQuery & { /** How many to omit of those that match. */ offset: number; limit: number },
  ): Promise<BuildLogRow[]> =>
    selectLog(db, id, levels).orderBy('position').offset(offset).limit(limit).execute(),

  /**
   * Reads entries by time, and those of one millisecond in the order of their writing; or all in the opposite
   * order.
   */
  pageBuildLog: (id: string, { levels, ...page }: BuildLogQuery & LogPage): Promise<BuildLogRow[]> =>
    readLogPage(page, ({ from, to, limit }) => {
      let query = selectLog(db, id, levels).orderBy('at', page.order).orderBy('position', page.order);
      if (from !== undefined) query = query.where('at', '>=', from);
      if (to !== undefined) query = query.where('at', '<=', to);
      if (limit !== undefined) query = query.limit(limit);
      return query.execute();
    }),
});
