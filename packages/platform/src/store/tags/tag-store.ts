import type { BuildRow } from '../build-store.ts';

/** The tags that point to builds, and what is kept because of them. */
export interface TagStore {
  /** The build that a tag points to. */
  findTaggedBuild(templateId: string, tag: string): Promise<BuildRow | undefined>;
  /** By name. */
  listBuildTags(templateId: string): Promise<BuildTag[]>;
  /**
   * Points tags of its template to a build, in one transaction. Images that nothing needs any more are retired. False, with nothing
   * changed, when the build has no image, or no more.
   */
  assignTags(assignment: { buildId: string; tags: readonly string[]; at: number }): Promise<boolean>;
  /**
   * Deletes tags in one transaction. Sandboxes that began with their builds live on; images that nothing needs any more
   * are retired. Returns the first tag that does not exist; then nothing is deleted.
   */
  deleteTags(which: { templateId: string; tags: readonly string[] }): Promise<string | undefined>;
  /**
   * Deletes a template of builds, or a part of it, in one transaction with the check that no sandbox was created from it. Images that
   * nothing needs any more are retired.
   */
  retireTemplate(part: TemplatePart): Promise<'retired' | 'in_use' | 'not_found'>;
  /** Retires the images that no tag, sandbox or snapshot needs, and returns the digests of all others. */
  retireImages(): Promise<string[]>;
}

/** A whole template; with a tag, that tag; with a build id, all tags of that build or snapshot. */
export interface TemplatePart {
  templateId: string;
  tag?: string;
  buildId?: string;
}

export interface BuildTag {
  tag: string;
  buildId: string;
  /** When it was pointed to that build. */
  assignedAt: number;
}
