import { toBuildRow } from '../build-queries.ts';
import type { BuildRow } from '../build-store.ts';
import type { Database } from '../migrations.ts';
import { ALIVE_STATES } from '../store.ts';
import { selectTemplates } from '../template-queries.ts';
import { pointTags } from './point-tags.ts';
import { retireImages } from './retire-images.ts';
import type { TagStore } from './tag-store.ts';

const findTagged = async (db: Database, templateId: string, tag: string): Promise<BuildRow | undefined> => {
  const row = await db
    .selectFrom('builds')
    .innerJoin('build_tags', 'build_tags.build_id', 'builds.id')
    .selectAll('builds')
    .where('build_tags.template_id', '=', templateId)
    .where('build_tags.tag', '=', tag)
    .executeTakeFirst();
  return row && toBuildRow(row);
};

/** The tags of a store, in portable SQL. */
export const createTagQueries = (db: Database): TagStore => ({
  findTaggedBuild: (templateId, tag) => findTagged(db, templateId, tag),

  listBuildTags: (templateId) =>
    db
      .selectFrom('build_tags')
      .select(['tag', 'build_id as buildId', 'assigned_at as assignedAt'])
      .where('template_id', '=', templateId)
      .orderBy('tag')
      .execute(),

  assignTags: ({ buildId, tags, at }) =>
    db.transaction().execute(async (tx) => {
      const build = await tx
        .selectFrom('builds')
        .select('template_id')
        .where('id', '=', buildId)
        .where('image', 'is not', null)
        .executeTakeFirst();
      if (build === undefined) return false;
      await pointTags(tx, { templateId: build.template_id, buildId, tags, requestedAt: at, at });
      await retireImages(tx);
      return true;
    }),

  deleteTags: ({ templateId, tags }) =>
    db.transaction().execute(async (tx) => {
      for (const tag of tags) if ((await findTagged(tx, templateId, tag)) === undefined) return tag;
      await tx
        .deleteFrom('build_tags')
        .where('template_id', '=', templateId)
        .where('tag', 'in', tags)
        .execute();
      await retireImages(tx);
      return undefined;
    }),

  retireTemplate: ({ templateId, tag, buildId }) =>
    db.transaction().execute(async (tx): Promise<'retired' | 'in_use' | 'not_found'> => {
      const template = await selectTemplates(tx).where('templates.id', '=', templateId).executeTakeFirst();
      if (template?.kind !== 'build') return 'not_found';
      let tagged = tx.selectFrom('build_tags').selectAll().where('template_id', '=', templateId);
      if (tag !== undefined) tagged = tagged.where('tag', '=', tag);
      if (buildId !== undefined) tagged = tagged.where('build_id', '=', buildId);
      const tags = await tagged.execute();
      const isWhole = tag === undefined && buildId === undefined;
      if (!isWhole && tags.length === 0) return 'not_found';
      let users = tx
        .selectFrom('sandboxes')
        .select('id')
        .where('template_id', '=', templateId)
        .where('state', 'in', ALIVE_STATES);
      if (!isWhole)
        users = users.where(
          'build_id',
          'in',
          tags.map((row) => row.build_id),
        );
      if ((await users.limit(1).executeTakeFirst()) !== undefined) return 'in_use';
      let removal = tx.deleteFrom('build_tags').where('template_id', '=', templateId);
      if (tag !== undefined) removal = removal.where('tag', '=', tag);
      if (buildId !== undefined) removal = removal.where('build_id', '=', buildId);
      await removal.execute();
      if (isWhole) {
        await tx.deleteFrom('template_names').where('template_id', '=', templateId).execute();
        await tx.deleteFrom('templates').where('id', '=', templateId).execute();
      }
      // Builds whose images snapshots need stay until those are gone.
      await retireImages(tx);
      return 'retired';
    }),

  retireImages: () =>
    db.transaction().execute(async (tx) => {
      await retireImages(tx);
      // A union has each digest once.
      const rows = await tx
        .selectFrom('builds')
        .select('image')
        .where('image', 'is not', null)
        .union(tx.selectFrom('build_cache').select('image').where('image', 'is not', null))
        .execute();
      return rows.flatMap(({ image }) => image ?? []);
    }),
});
