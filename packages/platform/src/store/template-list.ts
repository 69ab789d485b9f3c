import { isAfter } from './newest-first.ts';
import type { ListedTemplate, TemplateQuery } from './rows.ts';
import type { Database } from './schema.ts';
import { EVERYTHING, isOwned, type Scope } from './scope.ts';
import { selectTemplates } from './template-queries.ts';

/** Undefined: of all templates. */
type TemplateIds = readonly string[] | undefined;

/** The latest build of each template, and how many it has. */
const selectLatestBuilds = (db: Database, templateIds: TemplateIds) => {
  let placed = db.selectFrom('builds').select(({ fn }) => [
    'id',
    fn
      .countAll()
      .over((over) => over.partitionBy('templateId'))
      .as('buildCount'),
    fn
      .agg<number>('row_number')
      .over((over) => over.partitionBy('templateId').orderBy('createdAt', 'desc').orderBy('id', 'desc'))
      .as('place'),
  ]);
  if (templateIds !== undefined) placed = placed.where('templateId', 'in', templateIds);
  return db
    .selectFrom(placed.as('placed'))
    .innerJoin('builds', 'builds.id', 'placed.id')
    .where('placed.place', '=', 1)
    .select([
      'builds.templateId',
      'placed.buildCount',
      'builds.id',
      'builds.state',
      'builds.createdAt',
      'builds.startedAt',
      'builds.finishedAt',
      'builds.cpuCount',
      'builds.memoryMb',
      'builds.diskMb',
      'builds.isolation',
    ]);
};

const selectSpawns = (db: Database, templateIds: TemplateIds, scope: Scope | undefined) => {
  const spawns = db
    .selectFrom('sandboxes')
    .select((eb) => ['templateId', eb.fn.countAll().as('count'), eb.fn.max('createdAt').as('last')])
    .groupBy('templateId')
    .where(isOwned('sandboxes.project', scope ?? EVERYTHING));
  return templateIds === undefined ? spawns : spawns.where('templateId', 'in', templateIds);
};

/** The list of templates of a store, in portable SQL. */
export const createTemplateList = (db: Database) => ({
  /** Templates with their names and latest builds, newest first, ties by id; all of them without a query. */
  listTemplates: async ({
    scope,
    id,
    kinds,
    limit,
    after,
  }: TemplateQuery = {}): Promise<ListedTemplate[]> => {
    let query = selectTemplates(db).orderBy('templates.createdAt', 'desc').orderBy('templates.id', 'desc');
    if (id !== undefined) query = query.where('templates.id', '=', id);
    else if (scope !== undefined) query = query.where(isOwned('templates.project', scope));
    if (kinds !== undefined) query = query.where('templates.kind', 'in', kinds);
    if (after !== undefined) query = query.where(isAfter('templates', after));
    if (limit !== undefined) query = query.limit(limit);
    const templates = await query.execute();
    if (templates.length === 0) return [];
    // A statement has too few parameters for the ids of all templates.
    const isPart = id !== undefined || limit !== undefined;
    const templateIds = isPart ? templates.map((template) => template.id) : undefined;
    const builds = await selectLatestBuilds(db, templateIds).execute();
    const spawns = await selectSpawns(db, templateIds, scope).execute();
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
        template,
        ...(latestOf.get(template.id) ?? { build: null, buildCount: 0 }),
        spawnCount: Number(spawn?.count ?? 0),
        lastSpawnedAt: spawn?.last ?? null,
      };
    });
  },
});
