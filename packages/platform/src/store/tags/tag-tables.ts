import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The build that a tag of a template points to. */
export interface BuildTagTable {
  template_id: string;
  tag: string;
  build_id: string;
  requested_at: number;
  assigned_at: number;
}

export const tags: Migration = {
  async up(db: Kysely<unknown>) {
    for (const name of ['requested_at', 'assigned_at'])
      await db.schema
        .alterTable('build_tags')
        .addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
    await sql`update build_tags set
      requested_at = (select created_at from builds where builds.id = build_tags.build_id),
      assigned_at = (select coalesce(finished_at, created_at) from builds where builds.id = build_tags.build_id)`.execute(
      db,
    );
    await db.schema
      .alterTable('templates')
      .addColumn('public', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
