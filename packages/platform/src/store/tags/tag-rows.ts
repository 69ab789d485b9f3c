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
