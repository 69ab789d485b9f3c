import { invalid, notFound } from '@skerry/contract/error';
import type { BuildRow } from '../store/build-store.ts';
import type { SnapshotStore, TaggedSnapshot, TemplateRow, TemplateStore } from '../store/store.ts';
import type { TagStore } from '../store/tags/tag-store.ts';

const form = /^(?:([a-z0-9_-]{1,128})\/)?([a-z0-9_-]{1,128})(?::([a-z0-9._-]{1,128}))?$/;

export interface TemplateReference {
  namespace?: string;
  /** An alias or an id. */
  name: string;
  tag?: string;
}

/** Parses `[namespace/]name[:tag]`, trimmed and in lower case. Throws `invalid_argument`, naming the field. */
export const parseTemplateReference = (field: string, text: string): TemplateReference => {
  const [, namespace, name, tag] = form.exec(text.trim().toLowerCase()) ?? [];
  if (name === undefined) {
    throw invalid(`${field} must be "[namespace/]name[:tag]" of letters, digits, "-" and "_", got "${text}"`);
  }
  return { name, ...(namespace !== undefined && { namespace }), ...(tag !== undefined && { tag }) };
};

/** The namespace of every name: an installation has one owner. */
export const NAMESPACE = 'local';

export const DEFAULT_TAG = 'default';

/** The template of that name or id. Undefined when it is unknown, or the namespace is another one. */
export const findTemplate = async (
  store: TemplateStore,
  { namespace, name }: TemplateReference,
): Promise<TemplateRow | undefined> =>
  namespace === undefined || namespace === NAMESPACE ? store.findTemplate(name) : undefined;

/**
 * The template that a field names as a whole. Rejects with `invalid_argument`, also for one with a tag, or with
 * `not_found`.
 */
export const requireWholeTemplate = async (
  store: TemplateStore,
  text: string,
  field: string,
): Promise<TemplateRow> => {
  const reference = parseTemplateReference(field, text);
  if (reference.tag !== undefined)
    throw invalid(`${field} must name a template without a tag, got "${text}"`);
  const template = await findTemplate(store, reference);
  if (template === undefined) throw notFound(`template "${text}" was not found`);
  return template;
};

/** A template in the state that a tag names: of a snapshot, of a build, or of the installation's image. */
export interface TemplateState {
  template: TemplateRow;
  snapshot: TaggedSnapshot | null;
  build: BuildRow | null;
}

/** The template that a field names, and its snapshot or build. Rejects with `invalid_argument` or `not_found`. */
export const requireTemplate = async (
  store: TemplateStore & SnapshotStore & TagStore,
  text: string,
  field = 'body.templateID',
): Promise<TemplateState> => {
  const reference = parseTemplateReference(field, text);
  const { tag = DEFAULT_TAG } = reference;
  const template = await findTemplate(store, reference);
  if (template?.kind === 'image' && tag === DEFAULT_TAG) return { template, snapshot: null, build: null };
  const build = template?.kind === 'build' ? await store.findTaggedBuild(template.id, tag) : undefined;
  if (template && build) return { template, snapshot: null, build };
  const snapshot = template && (await store.findSnapshot(template.id, tag));
  if (template === undefined || snapshot === undefined) throw notFound(`template "${text}" was not found`);
  return { template, snapshot, build: null };
};

// RFC 9562: such a tag could be mistaken for a build id.
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Parses the name for a new template. Throws `invalid_argument`, naming the field. */
export const parseNewName = (field: string, text: string): { name: string; tag: string } => {
  const { namespace = NAMESPACE, name, tag = DEFAULT_TAG } = parseTemplateReference(field, text);
  if (namespace !== NAMESPACE)
    throw invalid(`${field} must be in the namespace "${NAMESPACE}", got "${text}"`);
  if (uuid.test(tag)) throw invalid(`${field} must not have a UUID as its tag, got "${text}"`);
  return { name, tag };
};
