import { sql } from 'kysely';
import type { Database } from '../migrations.ts';
import { ACTIVE_STATES } from '../store.ts';
import type { LogUsage, UsageStore } from './usage-store.ts';

const toUsage = (row: { count: number | string | bigint; bytes: number | string | null }): LogUsage => ({
  count: Number(row.count),
  sizeBytes: Number(row.bytes ?? 0),
});

/** Of builds without a tag that ended before that time, those that have `keepPerTemplate` newer builds or more. */
const selectPrunable = (
  db: Database,
  { keepPerTemplate, endedBefore }: { keepPerTemplate: number; endedBefore: number },
) =>
  db
    .selectFrom('builds')
    .select('builds.id')
    .where('builds.state', 'in', ['ready', 'error'])
    .where('builds.finished_at', '<', endedBefore)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('build_tags').select('tag').whereRef('build_tags.build_id', '=', 'builds.id'))),
    )
    .where(
      ({ selectFrom }) =>
        sql<boolean>`${selectFrom('builds as newer')
          .select((eb) => eb.fn.countAll().as('count'))
          .whereRef('newer.template_id', '=', 'builds.template_id')
          .where(({ or, and, eb, ref }) =>
            or([
              eb('newer.created_at', '>', ref('builds.created_at')),
              and([
                eb('newer.created_at', '=', ref('builds.created_at')),
                eb('newer.id', '>', ref('builds.id')),
              ]),
            ]),
          )} >= ${keepPerTemplate}`,
    );

/** The usage part of a store, in portable SQL. */
export const createUsageQueries = (db: Database): UsageStore => ({
  measureLogs: async ({ endedBefore }) => {
    const bytes = sql<number | null>`sum(length(message))`.as('bytes');
    const ofBuilds = db.selectFrom('build_logs').select((eb) => [eb.fn.countAll().as('count'), bytes]);
    const all = toUsage(await ofBuilds.executeTakeFirstOrThrow());
    const unneeded = toUsage(
      await ofBuilds
        .where('build_id', 'in', selectPrunable(db, { keepPerTemplate: 0, endedBefore }))
        .executeTakeFirstOrThrow(),
    );
    const ofSandboxes = await db
      .selectFrom('sandbox_logs')
      .select((eb) => [eb.fn.countAll().as('count'), bytes])
      .executeTakeFirstOrThrow();
    return {
      builds: { ...all, unneededCount: unneeded.count, unneededBytes: unneeded.sizeBytes },
      sandboxes: toUsage(ofSandboxes),
    };
  },

  pruneBuildLogs: async (options) => {
    await db.deleteFrom('build_logs').where('build_id', 'in', selectPrunable(db, options)).execute();
  },

  listKeptBuilds: async () => {
    const rows = await db
      .selectFrom('builds')
      .select(['template_id', 'image', 'checkpoint_id'])
      .where('image', 'is not', null)
      .execute();
    return rows.map((row) => ({
      templateId: row.template_id,
      image: row.image ?? '',
      checkpointId: row.checkpoint_id,
    }));
  },

  listUnusedTemplates: () =>
    db
      .selectFrom('templates')
      .leftJoin('template_names', 'template_names.template_id', 'templates.id')
      .select(['templates.id', 'template_names.name'])
      .where('templates.kind', '=', 'build')
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('sandboxes')
              .select('sandboxes.id')
              .whereRef('sandboxes.template_id', '=', 'templates.id')
              .where('sandboxes.state', 'in', ACTIVE_STATES),
          ),
        ),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('builds')
              .select('builds.id')
              .whereRef('builds.template_id', '=', 'templates.id')
              .where('builds.state', 'in', ['waiting', 'building']),
          ),
        ),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('snapshots')
              .innerJoin('builds', 'builds.id', 'snapshots.build_id')
              .select('snapshots.id')
              .whereRef('builds.template_id', '=', 'templates.id')
              .where('snapshots.state', '!=', 'removed')
              .where(({ or, eb, ref }) =>
                or([
                  eb('builds.checkpoint_id', 'is', null),
                  eb('builds.checkpoint_id', '!=', ref('snapshots.id')),
                ]),
              ),
          ),
        ),
      )
      .orderBy('templates.created_at', 'asc')
      .execute(),
});
