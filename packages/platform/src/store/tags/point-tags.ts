import type { Database } from '../schema.ts';

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
      .insertInto('buildTags')
      .values({ templateId, tag, buildId, requestedAt, assignedAt: at })
      .onConflict((on) =>
        on
          .columns(['templateId', 'tag'])
          .doUpdateSet({ buildId, requestedAt, assignedAt: at })
          .where('buildTags.requestedAt', '<=', requestedAt),
      )
      .execute();
  }
};
