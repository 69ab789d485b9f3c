import type { Database } from './migrations.ts';
import type { TemplateRow, TemplateStore } from './store.ts';

type SelectedTemplate = Omit<TemplateRow, 'public'> & { public: number };

export const toTemplateRow = (row: SelectedTemplate): TemplateRow => ({ ...row, public: row.public === 1 });

/** Templates with their names, for `toTemplateRow`. */
export const selectTemplates = (db: Database) =>
  db
    .selectFrom('templates')
    .leftJoin('template_names', 'template_names.template_id', 'templates.id')
    .select([
      'templates.id as id',
      'templates.kind as kind',
      'template_names.name as name',
      'templates.public as public',
      'templates.created_at as createdAt',
      'templates.cpu_count as cpuCount',
      'templates.memory_mb as memoryMb',
      'templates.disk_mb as diskMb',
    ]);

/** The template part of a store, in portable SQL. */
export const createTemplateQueries = (db: Database): Omit<TemplateStore, 'listTemplates'> => ({
  ensureTemplate: (template) =>
    db.transaction().execute(async (tx): Promise<TemplateRow> => {
      const found = await selectTemplates(tx)
        .where('template_names.name', '=', template.name)
        .executeTakeFirst();
      if (found) return toTemplateRow(found);
      await tx
        .insertInto('templates')
        .values({
          id: template.id,
          kind: 'image',
          created_at: template.createdAt,
          cpu_count: template.cpuCount,
          memory_mb: template.memoryMb,
          disk_mb: template.diskMb,
        })
        .execute();
      await tx
        .insertInto('template_names')
        .values({ name: template.name, template_id: template.id })
        .execute();
      return { ...template, kind: 'image', public: false };
    }),

  findTemplate: async (idOrName) => {
    const found = await selectTemplates(db)
      .where((eb) => eb.or([eb('templates.id', '=', idOrName), eb('template_names.name', '=', idOrName)]))
      .executeTakeFirst();
    return found && toTemplateRow(found);
  },

  setPublic: async (id, isPublic) => {
    const changed = await db
      .updateTable('templates')
      .set({ public: isPublic ? 1 : 0 })
      .where('id', '=', id)
      .executeTakeFirst();
    return changed.numUpdatedRows > 0n;
  },
});
