import type { Database } from './migrations.ts';
import type { TemplateStore } from './store.ts';
import { selectTemplates, toTemplateRow } from './template-queries.ts';

/** Undefined: of all templates. */
type TemplateIds = readonly string[] | undefined;

/** The latest build of each template, and how many it has. */
const selectLatestBuilds = (db: Database, templateIds: TemplateIds) => {
  let placed = db.selectFrom('builds').select(({ fn }) => [
    'id',
    fn
      .countAll()
      .over((over) => over.partitionBy('template_id'))
      .as('buildCount'),
    fn
      .agg<number>('row_number')
      .over((over) => over.partitionBy('template_id').orderBy('created_at', 'desc').orderBy('id', 'desc'))
      .as('place'),
  ]);
  if (templateIds !== undefined) placed = placed.where('template_id', 'in', templateIds);
  return db
    .selectFrom(placed.as('placed'))
    .innerJoin('builds', 'builds.id', 'placed.id')
    .where('placed.place', '=', 1)
    .select([
      'builds.template_id as templateId',
      'placed.buildCount as buildCount',
      'builds.id as id',
      'builds.state as state',
      'builds.created_at as createdAt',
      'builds.started_at as startedAt',
      'builds.finished_at as finishedAt',
      'builds.cpu_count as cpuCount',
      'builds.memory_mb as memoryMb',
      'builds.disk_mb as diskMb',
    ]);
};

const selectSpawns = (db: Database, templateIds: TemplateIds) => {
  const spawns = db
    .selectFrom('sandboxes')
    .select((eb) => [
      'template_id as templateId',
      eb.fn.countAll().as('count'),
      eb.fn.max('created_at').as('last'),
    ])
    .groupBy('template_id');
  return templateIds === undefined ? spawns : spawns.where('template_id', 'in', templateIds);
};

/** The list of templates of a store, in portable SQL. */
export const createTemplateList = (db: Database): Pick<TemplateStore, 'listTemplates'> => ({
  listTemplates: async ({ id, kinds, limit, after } = {}) => {
    let query = selectTemplates(db).orderBy('templates.created_at', 'desc').orderBy('templates.id', 'desc');
    if (id !== undefined) query = query.where('templates.id', '=', id);
    if (kinds !== undefined) query = query.where('templates.kind', 'in', kinds);
    if (after !== undefined) {
      query = query.where((eb) =>
        eb.or([
          eb('templates.created_at', '<', after.createdAt),
          eb.and([eb('templates.created_at', '=', after.createdAt), eb('templates.id', '<', after.id)]),
        ]),
      );
    }
    if (limit !== undefined) query = query.limit(limit);
    const templates = await query.execute();
    if (templates.length === 0) return [];
    // A statement has too few parameters for the ids of all templates.
    const isPart = id !== undefined || limit !== undefined;
    const templateIds = isPart ? templates.map((template) => template.id) : undefined;
    const builds = await selectLatestBuilds(db, templateIds).execute();
    const spawns = await selectSpawns(db, templateIds).execute();
    const latestOf = new Map(
      builds.map(({ templateId, buildCount, ...build }) => [
        templateId,
        { build, buildCount: Number(buildCount) },
      ]),
    );
    const spawnsOf = new Map(spawns.map((spawn) => [spawn.templateId, spawn]));
    return templates.map((template) => {
      const spawn = spawnsOf.get(template.id);
      return {
        template: toTemplateRow(template),
        ...(latestOf.get(template.id) ?? { build: null, buildCount: 0 }),
        spawnCount: Number(spawn?.count ?? 0),
        lastSpawnedAt: spawn?.last ?? null,
      };
    });
  },
});
