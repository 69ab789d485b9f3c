import { sql } from 'kysely';
import { ACTIVE_STATES } from '../rows.ts';
import type { Database } from '../schema.ts';
import type { KeptBuild, LogUsage } from './usage-rows.ts';

const toUsage = (row: { count: number | string | bigint; bytes: number | string | null }): LogUsage => ({
  count: Number(row.count),
  sizeBytes: Number(row.bytes ?? 0),
});

/**
 * Selects the builds without a tag that ended before that time and have at least `keepPerTemplate` newer
 * ones.
 */
const selectPrunable = (
  db: Database,
  { keepPerTemplate, endedBefore }: { keepPerTemplate: number; endedBefore: number },
) =>
  db
    .selectFrom('builds')
    .select('builds.id')
    .where('builds.state', 'in', ['ready', 'error'])
    .where('builds.finishedAt', '<', endedBefore)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('buildTags').select('tag').whereRef('buildTags.buildId', '=', 'builds.id'))),
    )
    .where(
      ({ selectFrom }) =>
        sql<boolean>`${selectFrom('builds as newer')
          .select((eb) => eb.fn.countAll().as('count'))
          .whereRef('newer.templateId', '=', 'builds.templateId')
          .where(({ or, and, eb, ref }) =>
            or([
              eb('newer.createdAt', '>', ref('builds.createdAt')),
              and([
                eb('newer.createdAt', '=', ref('builds.createdAt')),
                eb('newer.id', '>', ref('builds.id')),
              ]),
            ]),
          )} >= ${keepPerTemplate}`,
    );

/** What the store knows of the space that records take, and of what nothing uses, in portable SQL. */
export const createUsageQueries = (db: Database) => ({
  /** The entries of all logs; unneeded are those that `pruneBuildLogs` without newest builds deletes. */
  measureLogs: async ({ endedBefore }: { endedBefore: number }) => {
    const bytes = sql<number | null>`sum(length(message))`.as('bytes');
    const ofBuilds = db.selectFrom('buildLogs').select((eb) => [eb.fn.countAll().as('count'), bytes]);
    const all = toUsage(await ofBuilds.executeTakeFirstOrThrow());
    const unneeded = toUsage(
      await ofBuilds
        .where('buildId', 'in', selectPrunable(db, { keepPerTemplate: 0, endedBefore }))
        .executeTakeFirstOrThrow(),
    );
    const ofSandboxes = await db
      .selectFrom('sandboxLogs')
      .select((eb) => [eb.fn.countAll().as('count'), bytes])
      .executeTakeFirstOrThrow();
    return {
      builds: { ...all, unneededCount: unneeded.count, unneededBytes: unneeded.sizeBytes },
      sandboxes: toUsage(ofSandboxes),
    };
  },

  /**
   * Deletes the log entries of builds that ended before that time and to which no tag points, except those of the newest
   * builds of each template.
   */
  pruneBuildLogs: async (options: { keepPerTemplate: number; endedBefore: number }): Promise<void> => {
    await db.deleteFrom('buildLogs').where('buildId', 'in', selectPrunable(db, options)).execute();
  },

  /** The ready builds whose images are kept. */
  listKeptBuilds: async (): Promise<KeptBuild[]> => {
    const rows = await db
      .selectFrom('builds')
      .select(['templateId', 'image', 'checkpointId'])
      .where('image', 'is not', null)
      .execute();
    return rows.map((row) => ({ ...row, image: row.image ?? '' }));
  },

  /**
   * Built templates from which no sandbox exists, which no snapshot of a sandbox needs, and of which no build waits or
   * runs.
   */
  listUnusedTemplates: (): Promise<{ id: string; name: string | null }[]> =>
    db
      .selectFrom('templates')
      .leftJoin('templateNames', 'templateNames.templateId', 'templates.id')
      .select(['templates.id', 'templateNames.name'])
      .where('templates.kind', '=', 'build')
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('sandboxes')
              .select('sandboxes.id')
              .whereRef('sandboxes.templateId', '=', 'templates.id')
              .where('sandboxes.state', 'in', ACTIVE_STATES),
          ),
        ),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('builds')
              .select('builds.id')
              .whereRef('builds.templateId', '=', 'templates.id')
              .where('builds.state', 'in', ['waiting', 'building']),
          ),
        ),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('snapshots')
              .innerJoin('builds', 'builds.id', 'snapshots.buildId')
              .select('snapshots.id')
              .whereRef('builds.templateId', '=', 'templates.id')
              .where('snapshots.state', '!=', 'removed')
              .where(({ or, eb, ref }) =>
                or([
                  eb('builds.checkpointId', 'is', null),
                  eb('builds.checkpointId', '!=', ref('snapshots.id')),
                ]),
              ),
          ),
        ),
      )
      .orderBy('templates.createdAt', 'asc')
      .execute(),
});
