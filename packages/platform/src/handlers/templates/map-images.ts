import { ApiError, notFound } from '@skerry/contract/error';
import type { Store } from '../../store/store.ts';
import type { BuildPlan, BuildSource, StagePlan } from '../../templates/build-plan.ts';
import type { TemplateImages } from '../../templates/template-images.ts';
import { requireTemplateState } from './find-template.ts';

interface Names {
  store: Store;
  /** Undefined where templates cannot be built. */
  images: Pick<TemplateImages, 'findTarget'> | undefined;
}

/**
 * The plan with what the names of its images mean on this server. Credentials are for the registry that the name has: no other gets
 * them. Rejects with `not_found` for a template that does not exist.
 */
export const mapImages = async (plan: BuildPlan, names: Names): Promise<BuildPlan> => {
  const mapStage = async <T extends StagePlan>(stage: T, field: string): Promise<T> => ({
    ...stage,
    source: await mapSource(stage.source, { ...names, field: `${field}.fromImage` }),
  });
  const stages: StagePlan[] = [];
  for (const [index, stage] of plan.stages.entries())
    stages.push(await mapStage(stage, `body.stages[${index}]`));
  return { ...(await mapStage(plan, 'body')), stages };
};

const mapSource = async (
  source: BuildSource,
  { store, images, field }: Names & { field: string },
): Promise<BuildSource> => {
  const target = source.kind === 'image' ? images?.findTarget(source.reference) : undefined;
  if (source.kind !== 'image' || target === undefined) return source;
  const requestedAs = source.reference;
  if (target.kind === 'image')
    return { kind: 'image', reference: target.reference, credentials: undefined, requestedAs };
  const { name } = target;
  const meaning = `${field}: "${requestedAs}" is the template "${name}" on this server`;
  const { build, snapshot } = await requireTemplateState(store, name, field).catch((error: unknown) => {
    const isMissing = error instanceof ApiError && error.code === 'not_found';
    throw isMissing ? notFound(`${meaning}, which was not found`) : error;
  });
  return snapshot === null
    ? { kind: 'template', name, build, requestedAs }
    : { kind: 'snapshot', name, snapshot, requestedAs };
};
