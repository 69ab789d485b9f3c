import { invalid, notFound } from '@skerry/contract/error';
import type { TemplateRow, TemplateStore } from '../store/store.ts';

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

/** Undefined when there is no such template, namespace or tag. */
export const findTemplate = async (
  store: TemplateStore,
  { namespace, name, tag = 'default' }: TemplateReference,
): Promise<TemplateRow | undefined> => {
  // Templates of the installation have no namespace and one build, which is tagged "default".
  if (namespace !== undefined || tag !== 'default') return undefined;
  return store.findTemplate(name);
};

/** The template that a create names. Rejects with `invalid_argument` or `not_found`. */
export const requireTemplate = async (store: TemplateStore, text: string): Promise<TemplateRow> => {
  const template = await findTemplate(store, parseTemplateReference('body.templateID', text));
  if (template === undefined) throw notFound(`template "${text}" was not found`);
  return template;
};
