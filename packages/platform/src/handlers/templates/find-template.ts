import { notFound } from '@skerry/contract/error';
import type { BuildRow } from '../../store/build-rows.ts';
import type { TaggedSnapshot, TemplateRow } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import { toImageId } from '../template-replies.ts';
import {
  DEFAULT_TAG,
  NAMESPACE,
  parseTemplateReference,
  type TemplateReference,
} from './template-reference.ts';

type Templates = Pick<Store, 'findTemplate' | 'findSnapshot' | 'findTagOf' | 'findBuild' | 'findTaggedBuild'>;

/** Returns the template of that name or id. Undefined when it is unknown, or the namespace is another one. */
export const findTemplate = async (
  store: Pick<Store, 'findTemplate'>,
  { namespace, name }: TemplateReference,
): Promise<TemplateRow | undefined> =>
  namespace === undefined || namespace === NAMESPACE ? store.findTemplate(name) : undefined;

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
  store: Templates,
  reference: TemplateReference,
): Promise<TemplateState | undefined> => {
  const template = await findTemplate(store, reference);
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
  store: Templates,
  template: TemplateRow,
  buildId: string,
): Promise<BuildRow | undefined> => {
  const build = await store.findBuild(buildId);
  return build?.templateId === template.id && build.image !== null ? build : undefined;
};

/** Returns the state that a field names, as `findTemplateState`. Rejects with `invalid_argument` or `not_found`. */
export const requireTemplateState = async (
  store: Templates,
  text: string,
  field = 'body.templateID',
): Promise<TemplateState> => {
  const found = await findTemplateState(store, parseTemplateReference(field, text));
  if (found === undefined) throw notFound(`template "${text}" was not found`);
  return found;
};

/**
 * Returns the template that a field names, which may have no build yet. A tag or a build id in the reference must exist. Rejects with
 * `invalid_argument` or `not_found`.
 */
export const requireTemplate = async (
  store: Templates,
  text: string,
  field: string,
): Promise<TemplateRow> => {
  const reference = parseTemplateReference(field, text);
  const isWhole = reference.tag === undefined && reference.buildId === undefined;
  const template = isWhole
    ? await findTemplate(store, reference)
    : (await findTemplateState(store, reference))?.template;
  if (template === undefined) throw notFound(`template "${text}" was not found`);
  return template;
};
