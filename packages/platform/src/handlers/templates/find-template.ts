import { ApiError, notFound } from '@skerry/contract/error';
import type { BuildRow } from '../../store/build-rows.ts';
import type { TaggedSnapshot, TemplateRow } from '../../store/rows.ts';
import type { Scope } from '../../store/scope.ts';
import type { Store } from '../../store/store.ts';
import { toImageId } from '../template-replies.ts';
import { DEFAULT_TAG, parseTemplateReference, type TemplateReference } from './template-reference.ts';

/** Where references are looked up, and for whom. */
export interface Lookup {
  store: Pick<Store, 'findVisibleTemplate' | 'findSnapshot' | 'findTagOf' | 'findBuild' | 'findTaggedBuild'>;
  scope: Scope;
}

/** Returns the template of that name or id. Undefined when there is none that the caller may use. */
export const findTemplate = (
  { store, scope }: Lookup,
  { namespace, name }: TemplateReference,
): Promise<TemplateRow | undefined> => store.findVisibleTemplate({ project: namespace, name }, scope);

/** A template in the state that a tag or a build id names: of a snapshot, of a build, or of the installation's image. */
export interface TemplateState {
  template: TemplateRow;
  snapshot: TaggedSnapshot | null;
  build: BuildRow | null;
}

/**
 * Returns the state that a reference names, which a sandbox can be created from; without a tag, that of the tag `default`. Undefined when
 * there is none.
 */
export const findTemplateState = async (
  lookup: Lookup,
  reference: TemplateReference,
): Promise<TemplateState | undefined> => {
  const { store } = lookup;
  const template = await findTemplate(lookup, reference);
  if (template === undefined) return undefined;
  const { tag = DEFAULT_TAG, buildId } = reference;
  if (template.kind === 'image') {
    const isNamed = buildId === undefined ? tag === DEFAULT_TAG : buildId === toImageId(template.id);
    return isNamed ? { template, snapshot: null, build: null } : undefined;
  }
  if (template.kind === 'build') {
    const build =
      buildId === undefined
        ? await store.findTaggedBuild(template.id, tag)
        : await findReadyBuild(store, template, buildId);
    return build && { template, snapshot: null, build };
  }
  const snapshot =
    buildId === undefined ? await store.findSnapshot(template.id, tag) : await store.findTagOf(buildId);
  return snapshot?.templateId === template.id ? { template, snapshot, build: null } : undefined;
};

/** Undefined as well when the image of the build was removed. */
const findReadyBuild = async (
  store: Pick<Store, 'findBuild'>,
  template: TemplateRow,
  buildId: string,
): Promise<BuildRow | undefined> => {
  const build = await store.findBuild(buildId);
  return build?.templateId === template.id && build.image !== null ? build : undefined;
};

/** Returns the state that a field names, as `findTemplateState`. Rejects with `invalid_argument` or `not_found`. */
export const requireTemplateState = async (
  lookup: Lookup,
  text: string,
  field = 'body.templateID',
): Promise<TemplateState> => {
  const found = await findTemplateState(lookup, parseTemplateReference(field, text));
  if (found === undefined) throw notFound(`template "${text}" was not found`);
  return found;
};

/**
 * Returns the template that a field names, which may have no build yet. A tag or a build id in the reference must exist. Rejects with
 * `invalid_argument` or `not_found`.
 */
export const requireTemplate = async (lookup: Lookup, text: string, field: string): Promise<TemplateRow> => {
  const reference = parseTemplateReference(field, text);
  const isWhole = reference.tag === undefined && reference.buildId === undefined;
  const template = isWhole
    ? await findTemplate(lookup, reference)
    : (await findTemplateState(lookup, reference))?.template;
  if (template === undefined) throw notFound(`template "${text}" was not found`);
  return template;
};

/**
 * Returns the template that a field names, as `requireTemplate`, for a change of it. Rejects also with `permission_denied` for one that
 * the caller may only use.
 */
export const requireOwnTemplate = async (
  lookup: Lookup,
  text: string,
  field: string,
): Promise<TemplateRow> => {
  const template = await requireTemplate(lookup, text, field);
  requireOwner(template, lookup.scope, text);
  return template;
};

/** Throws `permission_denied` for a template that a caller may use and that belongs to another project. */
export const requireOwner = (template: TemplateRow, { project }: Scope, text: string): void => {
  if (project === null || template.project === project) return;
  throw new ApiError(
    'permission_denied',
    `the template "${text}" belongs to the project "${template.project}": a key of "${project}" may use it, but not change it`,
  );
};
