import type { Database } from './migrations.ts';
import type { TemplateRow, TemplateStore } from './store.ts';

const select = (db: Database) =>
  db
    .selectFrom('templates')
    .leftJoin('template_names', 'template_names.template_id', 'templates.id')
    .select([
      'templates.id as id',
      'templates.kind as kind',
      'template_names.name as name',
      'templates.created_at as createdAt',
      'templates.cpu_count as cpuCount',
      'templates.memory_mb as memoryMb',
      'templates.disk_mb as diskMb',
    ]);

/** The template part of a store, in SQL that every dialect understands. */
export const createTemplateQueries = (db: Database): TemplateStore => ({
  ensureTemplate: (template) =>
    db.transaction().execute(async (tx): Promise<TemplateRow> => {
      const found = await select(tx).where('template_names.name', '=', template.name).executeTakeFirst();
      if (found) return found;
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
      return { ...template, kind: 'image' };
    }),

  findTemplate: (idOrName) =>
    select(db)
      .where((eb) => eb.or([eb('templates.id', '=', idOrName), eb('template_names.name', '=', idOrName)]))
      .executeTakeFirst(),
});
