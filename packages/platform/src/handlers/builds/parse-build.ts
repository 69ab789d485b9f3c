import { isDefaultImage } from '@skerry/contract/default-image';
import type { components } from '@skerry/platform-client';
import type { RegistryCredentials } from '../../images/template-images.ts';
import type { BuildPlan, StagePlan } from '../../templates/build-plan.ts';
import { parseTemplateReference, type TemplateReference } from '../templates/template-reference.ts';
import { type BuildPosition, BuildProblem, problemsAt, type ToProblem, toBodyPath } from './build-problem.ts';
import { parseCredentials } from './parse-credentials.ts';
import { parseStep } from './parse-step.ts';

export type BuildBody = components['schemas']['BuildStart'];
type Stage = components['schemas']['BuildStage'];
type Registry = components['schemas']['ImageRegistry'];

/** What a stage begins with, by its name: what it means on this server is not known yet. */
export type NamedSource =
  | { kind: 'image'; reference: string; credentials: RegistryCredentials | undefined }
  | { kind: 'template'; name: string; reference: TemplateReference }
  | { kind: 'stage'; index: number };

/** A build as its body describes it. */
export type BuildDefinition = BuildPlan<NamedSource>;

const BASE = 'base';
/** The server keeps the variables of each while the build runs. */
const MAX_STEPS = 1_000;

/**
 * Parses the body of a build's start, whose shape was checked against the document. Reads nothing else. Throws `BuildProblem`, also for a
 * field that requests a feature that this server lacks, and `invalid_argument` for a reference to a template that is none.
 */
export const parseBuild = (body: BuildBody): BuildDefinition => {
  requirePlatform(body.platform);
  const stages: StagePlan<NamedSource>[] = [];
  const { force = false } = body;
  for (const [stage, value] of (body.stages ?? []).entries())
    stages.push(parseStage(value, { position: { stage }, before: stages, force }));
  const final = parseStage(body as Stage, { position: {}, before: stages, force });
  const stepCount = final.stepsBefore + final.steps.length;
  if (stepCount > MAX_STEPS)
    throw new BuildProblem(`must be at most ${MAX_STEPS} in all stages, got ${stepCount}`, {
      field: 'steps',
    });
  return { ...final, stages, ...parseStart(body) };
};

const requirePlatform = (platform: string | undefined): void => {
  const own = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  if (platform === undefined || platform === own) return;
  throw new BuildProblem(`must be ${own}, for which this server builds, got ${platform}`, {
    field: 'platform',
  });
};

interface StageContext {
  position: BuildPosition;
  before: readonly StagePlan<NamedSource>[];
  force: boolean;
}

const parseStage = (stage: Stage, { position, before, force }: StageContext): StagePlan<NamedSource> => {
  const { steps = [], imageConfig = false } = stage;
  const stepsBefore = before.reduce((count, { steps: own }) => count + own.length, 0);
  const forcedStep = before.at(-1)?.forcedStep ?? findForced(steps, stepsBefore);
  return {
    source: parseSource(stage, position, before.length),
    steps: steps.map((value, step) => parseStep(value, problemsAt({ ...position, step }), before.length)),
    stepsBefore,
    cacheableSteps: force ? null : countCacheable(steps, { stepsBefore, forcedStep }),
    forcedStep,
    usesConfig: imageConfig,
  };
};

const parseStart = ({
  entrypoint,
  command,
  healthcheck,
  exposedPorts = [],
  ...body
}: BuildBody): Omit<BuildPlan, keyof StagePlan | 'stages'> => {
  const problem = problemsAt({});
  const startCmd = parseCommand(body.startCmd, 'startCmd', problem);
  const readyCmd = parseCommand(body.readyCmd, 'readyCmd', problem);
  const both = (field: string, other: string) => problem(field, `does not go with ${other}`);
  if (startCmd !== undefined && (entrypoint ?? command) !== undefined)
    throw both(entrypoint ? 'entrypoint' : 'command', 'startCmd');
  if (readyCmd !== undefined && healthcheck !== undefined) throw both('healthcheck', 'readyCmd');
  for (const [field, words] of Object.entries({ entrypoint, command, healthcheck }))
    if (words?.some((word) => word.includes('\0'))) throw problem(field, 'must not contain NUL');
  return { startCmd, readyCmd, entrypoint, command, healthcheck, exposedPorts };
};

/** The number of the first forced step in the build. */
const findForced = (steps: NonNullable<Stage['steps']>, stepsBefore: number): number | undefined => {
  const forced = steps.findIndex((step) => step.force === true);
  return forced === -1 ? undefined : stepsBefore + forced + 1;
};

/** A step that is forced forces all later ones, also of later stages. */
const countCacheable = (
  steps: NonNullable<Stage['steps']>,
  { stepsBefore, forcedStep }: Pick<StagePlan, 'stepsBefore' | 'forcedStep'>,
): number => (forcedStep === undefined ? steps.length : Math.max(0, forcedStep - stepsBefore - 1));

/** Clients send an empty text for none. */
const parseCommand = (text: string | undefined, field: string, problem: ToProblem): string | undefined => {
  if (text?.includes('\0')) throw problem(field, 'must not contain NUL');
  return text === '' ? undefined : text;
};

const parseSource = (stage: Stage, position: BuildPosition, stageCount: number): NamedSource => {
  const problem = problemsAt(position);
  // The document checks that there is exactly one, but its alternatives have no type.
  const { fromImage, fromTemplate, fromStage, fromImageRegistry } = stage as Partial<
    Record<keyof Stage, unknown>
  > as {
    fromImage?: string;
    fromTemplate?: string;
    fromStage?: number;
    fromImageRegistry?: Registry;
  };
  if (fromImage !== undefined && !isDefaultImage(fromImage)) {
    const credentials = fromImageRegistry && parseCredentials(fromImageRegistry, problem);
    return { kind: 'image', reference: fromImage, credentials };
  }
  if (fromImageRegistry !== undefined)
    throw problem(
      'fromImageRegistry',
      `is for an image that is pulled, and this build begins with ${fromStage === undefined ? 'a template' : 'a stage'}`,
    );
  if (fromStage !== undefined) {
    if (fromStage < stageCount) return { kind: 'stage', index: fromStage };
    throw problem('fromStage', `must be the number of an earlier stage, got ${fromStage}`);
  }
  const name = fromTemplate ?? BASE;
  const reference = parseTemplateReference(toBodyPath({ ...position, field: 'fromTemplate' }), name);
  return { kind: 'template', name, reference };
};
