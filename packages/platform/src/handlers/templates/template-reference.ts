import { invalid } from '@skerry/contract/error';
import { parseBuildId } from '../../ids.ts';

const form = /^(?:([a-z0-9_-]{1,128})\/)?([a-z0-9_-]{1,128})(?::([a-z0-9._-]{1,128}))?$/;

// RFC 9562. A tag of this form could be mistaken for a build id, so no tag has it.
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** How a caller names a template, and with a tag or a build id one of its states. At most one of the two is set. */
export interface TemplateReference {
  namespace?: string;
  /** An alias or an id. */
  name: string;
  tag?: string;
  /** The id of a build or snapshot, as the store has it. */
  buildId?: string;
}

/**
 * Parses `[namespace/]name[:tag]` or `[namespace/]name:buildID`, trimmed and in lower case. The id of a snapshot has this form too. Throws
 * `invalid_argument`, naming the field.
 */
export const parseTemplateReference = (field: string, text: string): TemplateReference => {
  const [, namespace, name, tag] = form.exec(text.trim().toLowerCase()) ?? [];
  if (name === undefined) {
    throw invalid(`${field} must be "[namespace/]name[:tag]" of letters, digits, "-" and "_", got "${text}"`);
  }
  const template = { name, ...(namespace !== undefined && { namespace }) };
  if (tag === undefined) return template;
  return uuid.test(tag) ? { ...template, buildId: parseBuildId(tag) } : { ...template, tag };
};

export const DEFAULT_TAG = 'default';

/** Parses the name for a new template of a project. Throws `invalid_argument`, naming the field. */
export const parseNewName = (field: string, text: string, project: string): { name: string; tag: string } => {
  const { namespace = project, name, tag = DEFAULT_TAG, buildId } = parseTemplateReference(field, text);
  if (namespace !== project) throw invalid(`${field} must be in the namespace "${project}", got "${text}"`);
  if (buildId !== undefined) throw invalid(`${field} must not have a UUID as its tag, got "${text}"`);
  return { name, tag };
};

/** Parses a new tag of a template. Throws `invalid_argument`, naming the field. */
export const parseNewTag = (field: string, tag: string): string =>
  parseNewName(field, `any:${tag}`, 'any').tag;

/** Throws `invalid_argument`, naming the field, for a team that is not the owner of the key. */
export const requireOwnTeam = (field: string, teamId: string | undefined, project: string): void => {
  if (teamId !== undefined && teamId !== project)
    throw invalid(
      `${field}: the key belongs to the team "${project}", not to "${teamId}"; leave the field out`,
    );
};
