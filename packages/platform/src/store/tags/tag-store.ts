import type { BuildRow } from '../build-store.ts';

/** The tags that point to builds, and what is kept because of them. */
export interface TagStore {
  /** The build that a tag points to. */
  findTaggedBuild(templateId: string, tag: string): Promise<BuildRow | undefined>;
  /** By name. */
  listBuildTags(templateId: string): Promise<BuildTag[]>;
  /**
   * Points tags to the build that `target` points to, in one transaction. Images that nothing needs any more are
   * retired. Undefined, with nothing changed, when there is no such tag.
   */
  assignTags(assignment: {
    templateId: string;
    target: string;
    tags: readonly string[];
    at: number;
  }): Promise<BuildRow | undefined>;
  /**
   * Deletes tags in one transaction. Sandboxes that began with their builds live on; images that nothing needs any more
   * are retired. Returns the first tag that does not exist; then nothing is deleted.
   */
  deleteTags(which: { templateId: string; tags: readonly string[] }): Promise<string | undefined>;
  /**
   * Deletes a tag, or without one the whole template of builds, in one transaction with the check that no sandbox began
   * with it. Images that nothing needs any more are retired.
   */
  retireTemplate(which: { templateId: string; tag?: string }): Promise<'retired' | 'in_use' | 'not_found'>;
  /** Retires the images that no tag, sandbox or snapshot needs, and returns the digests of all others. */
  retireImages(): Promise<string[]>;
}

export interface BuildTag {
  tag: string;
  buildId: string;
  /** When it was pointed to that build. */
  assignedAt: number;
}
