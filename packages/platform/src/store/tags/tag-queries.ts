import type { BuildRow } from '../build-rows.ts';
import { ALIVE_STATES } from '../rows.ts';
import type { Database } from '../schema.ts';
import { deleteTemplate, selectTemplates } from '../template-queries.ts';
import { pointTags } from './point-tags.ts';
import { retireImages } from './retire-images.ts';
import type { BuildTag, TemplatePart } from './tag-rows.ts';

const findTagged = (db: Database, templateId: string, tag: string): Promise<BuildRow | undefined> =>
  db
    .selectFrom('builds')
    .innerJoin('buildTags', 'buildTags.buildId', 'builds.id')
    .selectAll('builds')
    .where('buildTags.templateId', '=', templateId)
    .where('buildTags.tag', '=', tag)
    .executeTakeFirst();

/** The tags that point to builds, and what is kept because of them, in portable SQL. */
export const createTagQueries = (db: Database) => ({
  /** The build that a tag points to. */
  findTaggedBuild: (templateId: string, tag: string) => findTagged(db, templateId, tag),

  /** Lists the tags of a template, by name. */
  listBuildTags: (templateId: string): Promise<BuildTag[]> =>
    db
      .selectFrom('buildTags')
      .select(['tag', 'buildId', 'assignedAt'])
      .where('templateId', '=', templateId)
      .orderBy('tag')
      .execute(),

  /**
   * Points tags of its template to a build, in one transaction. Images that nothing needs any more are retired. False, with nothing
   * changed, when the build has no image, or no more.
   */
  assignTags: ({
    buildId,
    tags,
    at,
  }: {
    buildId: string;
    tags: readonly string[];
    at: number;
  }): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      const build = await tx
        .selectFrom('builds')
        .select('templateId')
        .where('id', '=', buildId)
        .where('image', 'is not', null)
        .executeTakeFirst();
      if (build === undefined) return false;
      await pointTags(tx, { templateId: build.templateId, buildId, tags, requestedAt: at, at });
      await retireImages(tx);
      return true;
    }),

  /**
   * Deletes tags in one transaction. Sandboxes that began with their builds live on; images that nothing needs any more
   * are retired. Returns the first tag that does not exist; then nothing is deleted.
   */
  deleteTags: ({ templateId, tags }: { templateId: string; tags: readonly string[] }) =>
    db.transaction().execute(async (tx): Promise<string | undefined> => {
      for (const tag of tags) if ((await findTagged(tx, templateId, tag)) === undefined) return tag;
      await tx
        .deleteFrom('buildTags')
        .where('templateId', '=', templateId)
        .where('tag', 'in', tags)
        .execute();
      await retireImages(tx);
      return undefined;
    }),

  /**
   * Deletes a template of builds, or a part of it, in one transaction with the check that no sandbox was created from it. Images that
   * nothing needs any more are retired.
   */
  retireTemplate: ({ templateId, tag, buildId }: TemplatePart) =>
    db.transaction().execute(async (tx): Promise<'retired' | 'in_use' | 'not_found'> => {
      const template = await selectTemplates(tx).where('templates.id', '=', templateId).executeTakeFirst();
      if (template?.kind !== 'build') return 'not_found';
      let tagged = tx.selectFrom('buildTags').selectAll().where('templateId', '=', templateId);
      if (tag !== undefined) tagged = tagged.where('tag', '=', tag);
      if (buildId !== undefined) tagged = tagged.where('buildId', '=', buildId);
      const tags = await tagged.execute();
      const isWhole = tag === undefined && buildId === undefined;
      if (!isWhole && tags.length === 0) return 'not_found';
      let users = tx
        .selectFrom('sandboxes')
        .select('id')
        .where('templateId', '=', templateId)
        .where('state', 'in', ALIVE_STATES);
      if (!isWhole)
        users = users.where(
          'buildId',
          'in',
          tags.map((row) => row.buildId),
        );
      if ((await users.limit(1).executeTakeFirst()) !== undefined) return 'in_use';
      let removal = tx.deleteFrom('buildTags').where('templateId', '=', templateId);
      if (tag !== undefined) removal = removal.where('tag', '=', tag);
      if (buildId !== undefined) removal = removal.where('buildId', '=', buildId);
      await removal.execute();
      if (isWhole) await deleteTemplate(tx, templateId);
      // Builds whose images snapshots need stay until those are gone.
      await retireImages(tx);
      return 'retired';
    }),

  /** Retires the images that no tag, sandbox or snapshot needs, and returns the digests of all others. */
  retireImages: (): Promise<string[]> =>
    db.transaction().execute(async (tx) => {
      await retireImages(tx);
      // A union has each digest once.
      const rows = await tx
        .selectFrom('builds')
        .select('image')
        .where('image', 'is not', null)
        .union(tx.selectFrom('buildCache').select('image').where('image', 'is not', null))
        .execute();
      return rows.flatMap(({ image }) => image ?? []);
    }),
});
