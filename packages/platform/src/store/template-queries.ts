import type { NewTemplate, TemplateRow } from './rows.ts';
import type { Database } from './schema.ts';

/** Templates with their names. */
export const selectTemplates = (db: Database) =>
  db
    .selectFrom('templates')
    .leftJoin('templateNames', 'templateNames.templateId', 'templates.id')
    .selectAll('templates')
    .select('templateNames.name');

/** Writes a template, and its name if it has one. */
export const insertTemplate = async (db: Database, { name, ...template }: TemplateRow): Promise<void> => {
  await db.insertInto('templates').values(template).execute();
  if (name !== null) await db.insertInto('templateNames').values({ name, templateId: template.id }).execute();
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
      const found = await selectTemplates(tx)
        .where('templateNames.name', '=', template.name)
        .executeTakeFirst();
      if (found) return found;
      const made: TemplateRow = { ...template, kind: 'image', public: false };
      await insertTemplate(tx, made);
      return made;
    }),

  /** Finds a template by id or by name. */
  findTemplate: (idOrName: string): Promise<TemplateRow | undefined> =>
    selectTemplates(db)
      .where((eb) => eb.or([eb('templates.id', '=', idOrName), eb('templateNames.name', '=', idOrName)]))
      .executeTakeFirst(),

  /** Whether every team may use it. Resolves with false when there is no such template. */
  setPublic: async (id: string, isPublic: boolean): Promise<boolean> => {
    const changed = await db
      .updateTable('templates')
      .set({ public: isPublic })
      .where('id', '=', id)
      .executeTakeFirst();
    return changed.numUpdatedRows > 0n;
  },
});
