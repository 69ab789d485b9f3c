import type { NewTemplate, TemplateRow } from './rows.ts';
import type { Database } from './schema.ts';
import { DEFAULT_PROJECT, isOwned, type Scope, toOwnProject } from './scope.ts';

/** Templates with their names. */
export const selectTemplates = (db: Database) =>
  db
    .selectFrom('templates')
    .leftJoin('templateNames', 'templateNames.templateId', 'templates.id')
    .selectAll('templates')
    .select('templateNames.name');

export interface TemplateName {
  project: string;
  name: string;
}

/** The template of that name in that project. */
export const selectNamed = (db: Database, { project, name }: TemplateName) =>
  selectTemplates(db).where('templateNames.project', '=', project).where('templateNames.name', '=', name);

/** Writes a template, and its name if it has one. */
export const insertTemplate = async (db: Database, { name, ...template }: TemplateRow): Promise<void> => {
  await db.insertInto('templates').values(template).execute();
  if (name === null) return;
  const { id: templateId, project } = template;
  await db.insertInto('templateNames').values({ project, name, templateId }).execute();
};

/** Deletes a template with its name. */
export const deleteTemplate = async (db: Database, id: string): Promise<void> => {
  await db.deleteFrom('templateNames').where('templateId', '=', id).execute();
  await db.deleteFrom('templates').where('id', '=', id).execute();
};

/** The templates of a store, in portable SQL. */
export const createTemplateQueries = (db: Database) => ({
  /** The template of that name, created first when it is missing. */
  ensureTemplate: (template: NewTemplate): Promise<TemplateRow> =>
    db.transaction().execute(async (tx) => {
      const found = await selectNamed(tx, template).executeTakeFirst();
      if (found) return found;
      const made: TemplateRow = { ...template, kind: 'image', public: false };
      await insertTemplate(tx, made);
      return made;
    }),

  findTemplate: (id: string): Promise<TemplateRow | undefined> =>
    selectTemplates(db).where('templates.id', '=', id).executeTakeFirst(),

  findNamedTemplate: (named: TemplateName): Promise<TemplateRow | undefined> =>
    selectNamed(db, named).executeTakeFirst(),

  /**
   * Finds a template that a caller may use, by its id or name: one of its project, a public one, or an image of the installation. An id
   * comes before a name of that form. Without a project in the reference, names of its own project come before those of the default one.
   */
  findVisibleTemplate: async (
    { project, name }: { project?: string | undefined; name: string },
    scope: Scope,
  ): Promise<TemplateRow | undefined> => {
    const own = toOwnProject(scope);
    const projects = project === undefined ? [own, DEFAULT_PROJECT] : [project];
    let query = selectTemplates(db)
      .where((eb) =>
        eb.or([
          eb('templates.id', '=', name),
          eb.and([eb('templateNames.name', '=', name), eb('templates.project', 'in', projects)]),
        ]),
      )
      .where((eb) =>
        eb.or([
          isOwned('templates.project', scope),
          eb('templates.public', '=', true),
          eb('templates.kind', '=', 'image'),
        ]),
      );
    if (project !== undefined) query = query.where('templates.project', '=', project);
    const found = await query.execute();
    return (
      found.find(({ id }) => id === name) ?? found.find((template) => template.project === own) ?? found[0]
    );
  },

  /** Whether every project may use it. Resolves with false when there is no such template. */
  setPublic: async (id: string, isPublic: boolean): Promise<boolean> => {
    const changed = await db
      .updateTable('templates')
      .set({ public: isPublic })
      .where('id', '=', id)
      .executeTakeFirst();
    return changed.numUpdatedRows > 0n;
  },
});
