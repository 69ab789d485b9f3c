import { ACTIVE_STATES } from '../rows.ts';
import type { Database } from '../schema.ts';

/**
 * Takes the image from ready builds that no tag points to and with which no sandbox or snapshot began. Builds without an
 * image and a template are deleted.
 */
export const retireImages = async (db: Database): Promise<void> => {
  await db
    .updateTable('builds')
    .set({ image: null })
    .where('image', 'is not', null)
    .where(({ and, not, exists, selectFrom }) =>
      and([
        not(exists(selectFrom('buildTags').select('tag').whereRef('buildTags.buildId', '=', 'builds.id'))),
        not(
          exists(
            selectFrom('sandboxes')
              .select('sandboxes.id')
              .whereRef('sandboxes.buildId', '=', 'builds.id')
              .where('sandboxes.state', 'in', ACTIVE_STATES),
          ),
        ),
        not(
          exists(
            selectFrom('snapshots')
              .select('snapshots.id')
              .whereRef('snapshots.buildId', '=', 'builds.id')
              .where('snapshots.state', '!=', 'removed'),
          ),
        ),
      ]),
    )
    .execute();
  // Delete also the builds of templates that were deleted before their last snapshot.
  await db
    .deleteFrom('builds')
    .where('image', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('templates').select('templates.id').whereRef('templates.id', '=', 'builds.templateId'),
        ),
      ),
    )
    .execute();
};
