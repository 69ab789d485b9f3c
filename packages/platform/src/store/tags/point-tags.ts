import type { Database } from '../migrations.ts';

/** Tags, and the build that they will point to. */
export interface TagAssignment {
  templateId: string;
  buildId: string;
  tags: readonly string[];
  /** When the caller asked for it: of two assignments of a tag the one that was asked for last holds. */
  requestedAt: number;
  /** When it takes effect. */
  at: number;
}

/** Points each tag to the build, except those that a later request has assigned already. */
export const pointTags = async (
  db: Database,
  { templateId, buildId, tags, requestedAt, at }: TagAssignment,
): Promise<void> => {
  for (const tag of tags) {
    await db
      .insertInto('build_tags')
      .values({ template_id: templateId, tag, build_id: buildId, requested_at: requestedAt, assigned_at: at })
      .onConflict((on) =>
        on
          .columns(['template_id', 'tag'])
          .doUpdateSet({ build_id: buildId, requested_at: requestedAt, assigned_at: at })
          .where('build_tags.requested_at', '<=', requestedAt),
      )
      .execute();
  }
};
