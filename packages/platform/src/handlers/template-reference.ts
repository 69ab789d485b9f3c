import { invalid, notFound } from '@skerry/contract/error';
import type { SnapshotStore, TaggedSnapshot, TemplateRow, TemplateStore } from '../store/store.ts';

const form = /^(?:([a-z0-9_-]{1,128})\/)?([a-z0-9_-]{1,128})(?::([a-z0-9._-]{1,128}))?$/;

export interface TemplateReference {
  namespace?: string;
  /** An alias or an id. */
  name: string;
  tag?: string;
}

/** Reads `[namespace/]name[:tag]`, trimmed and in lower case. Throws `invalid_argument`, naming the field. */
export const parseTemplateReference = (field: string, text: string): TemplateReference => {
  const [, namespace, name, tag] = form.exec(text.trim().toLowerCase()) ?? [];
  if (name === undefined) {
    throw invalid(`${field} must be "[namespace/]name[:tag]" of letters, digits, "-" and "_", got "${text}"`);
  }
  return { name, ...(namespace !== undefined && { namespace }), ...(tag !== undefined && { tag }) };
};

/** Of every name that is given here: an installation has one owner. */
export const NAMESPACE = 'local';

const DEFAULT_TAG = 'default';

/** The template of that name or id. Undefined when there is none, or the namespace is another one. */
export const findTemplate = async (
  store: TemplateStore,
  { namespace, name }: TemplateReference,
): Promise<TemplateRow | undefined> =>
  namespace === undefined || namespace === NAMESPACE ? store.findTemplate(name) : undefined;

/** The template that a field names, and what it leads to. Rejects with `invalid_argument` or `not_found`. */
export const requireTemplate = async (
  store: TemplateStore & SnapshotStore,
  text: string,
  field = 'body.templateID',
): Promise<{ template: TemplateRow; snapshot: TaggedSnapshot | null }> => {
  const reference = parseTemplateReference(field, text);
  const { tag = DEFAULT_TAG } = reference;
  const template = await findTemplate(store, reference);
  if (template?.kind === 'image' && tag === DEFAULT_TAG) return { template, snapshot: null };
  const snapshot = template && (await store.findSnapshot(template.id, tag));
  if (template === undefined || snapshot === undefined) throw notFound(`template "${text}" was not found`);
  return { template, snapshot };
};

// RFC 9562: with such a tag one could not tell a build from a tag.
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Reads the name that a template is to get. Throws `invalid_argument`, naming the field. */
export const parseNewName = (field: string, text: string): { name: string; tag: string } => {
  const { namespace = NAMESPACE, name, tag = DEFAULT_TAG } = parseTemplateReference(field, text);
  if (namespace !== NAMESPACE)
    throw invalid(`${field} must be in the namespace "${NAMESPACE}", got "${text}"`);
  if (uuid.test(tag)) throw invalid(`${field} must not have a UUID as its tag, got "${text}"`);
  return { name, tag };
};
