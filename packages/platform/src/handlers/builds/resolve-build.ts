import { notFound, unimplemented } from '@skerry/contract/error';
import { type IsolationLevel, strongestOf } from '@skerry/contract/isolation';
import { type TemplateImages, UnusableImageError } from '../../images/template-images.ts';
import type { Scope } from '../../store/scope.ts';
import {
  type BuildPlan,
  type BuildSource,
  levelOfSource,
  listUploads,
  type StagePlan,
} from '../../templates/build-plan.ts';
import type { ArchiveStore } from '../../templates/uploads/archive-store.ts';
import { toProjectHash } from '../../templates/uploads/project-hash.ts';
import { findTemplateState, type Lookup } from '../templates/find-template.ts';
import { parseTemplateReference, type TemplateReference } from '../templates/template-reference.ts';
import { type BuildPosition, problemsAt, toBodyPath } from './build-problem.ts';
import type { BuildDefinition, NamedSource } from './parse-build.ts';

/** What the names in a build are looked up in. */
export interface BuildResources {
  store: Lookup['store'];
  /** The scope of the caller. */
  scope: Scope;
  /** That of the template, whose uploaded files the build has. */
  project: string;
  /** Undefined where templates cannot be built. */
  images: Pick<TemplateImages, 'findTarget' | 'check'> | undefined;
  /** The files that clients have uploaded. */
  buildFiles: Pick<ArchiveStore, 'has'> | undefined;
  /** The level that was demanded when the build was registered; null: none. */
  isolation: IsolationLevel | null;
}

/**
 * Finds what the names in a build mean on this server: its templates, images and uploaded files, all of which exist afterwards. Files that
 * were found stay for a while. Rejects with `BuildProblem`, with `not_found` for a template, and with `unimplemented` where templates
 * cannot be built.
 */
export const resolveBuild = async (
  definition: BuildDefinition,
  resources: BuildResources,
): Promise<BuildPlan> => {
  const resolve = async <T extends StagePlan<NamedSource>>(stage: T, position: BuildPosition) => {
    const source = await resolveSource(stage.source, position, resources);
    requireNoLess(source, position, resources);
    await requireUploads(stage, position, resources);
    return { ...stage, source };
  };
  const stages: StagePlan[] = [];
  for (const [stage, value] of definition.stages.entries()) stages.push(await resolve(value, { stage }));
  return { ...(await resolve(definition, {})), stages };
};

/** Throws when sandboxes of the build could start below the level of a source. */
const requireNoLess = (
  source: BuildSource,
  position: BuildPosition,
  { isolation }: Pick<BuildResources, 'isolation'>,
): void => {
  const own = levelOfSource(source);
  if (isolation === null || own === null || strongestOf([isolation, own]) === isolation) return;
  const field = 'requestedAs' in source && source.requestedAs !== undefined ? 'fromImage' : 'fromTemplate';
  throw problemsAt(position)(
    field,
    `must not be of a higher level of isolation than "${isolation}", with which this build was registered: it is of level "${own}"`,
  );
};

const resolveSource = async (
  source: NamedSource,
  position: BuildPosition,
  { store, scope, images }: BuildResources,
): Promise<BuildSource> => {
  if (images === undefined) throw unimplemented('the runtime of this server cannot build templates');
  if (source.kind === 'stage') return source;
  if (source.kind === 'template') return findSource(source, { store, scope });
  const target = images.findTarget(source.reference);
  if (target?.kind === 'template') {
    const requestedAs = source.reference;
    const field = toBodyPath({ ...position, field: 'fromImage' });
    const named = { name: target.name, reference: parseTemplateReference(field, target.name) };
    const missing = `${field}: "${requestedAs}" is the template "${target.name}" on this server, which was not found`;
    return { ...(await findSource(named, { store, scope }, missing)), requestedAs };
  }
  // Credentials are for the registry that the name has: no other receives them.
  const found = target
    ? {
        kind: 'image' as const,
        reference: target.reference,
        credentials: undefined,
        requestedAs: source.reference,
      }
    : source;
  try {
    images.check(found.reference);
  } catch (error) {
    if (!(error instanceof UnusableImageError)) throw error;
    throw problemsAt(position)('fromImage', `cannot be used: ${error.message}`, error);
  }
  return found;
};

const findSource = async (
  { name, reference }: { name: string; reference: TemplateReference },
  lookup: Lookup,
  missing = `template "${name}" was not found`,
): Promise<Extract<BuildSource, { kind: 'template' | 'snapshot' }>> => {
  const state = await findTemplateState(lookup, reference);
  if (state === undefined) throw notFound(missing);
  const { build, snapshot } = state;
  return snapshot === null ? { kind: 'template', name, build } : { kind: 'snapshot', name, snapshot };
};

const requireUploads = async (
  { steps }: Pick<StagePlan, 'steps'>,
  position: BuildPosition,
  { buildFiles, project }: BuildResources,
): Promise<void> => {
  for (const [step, value] of steps.entries())
    for (const upload of listUploads(value)) {
      const { root } = upload;
      upload.filesHash = toProjectHash(project, upload.filesHash);
      if (await buildFiles?.has(upload.filesHash)) continue;
      const files = value.type === 'COPY' ? value.source : root || '.';
      throw problemsAt({ ...position, step })(
        'filesHash',
        `must be of uploaded files: those of '${files}' were not uploaded to the link of GET /templates/{templateID}/files/{hash}`,
      );
    }
};
