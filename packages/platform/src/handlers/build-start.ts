import { isDefaultImage } from '@skerry/contract/default-image';
import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { Store } from '../store/store.ts';
import type { BuildPlan, BuildSource, StagePlan } from '../templates/build-plan.ts';
import { parseBuildStep } from './templates/build-step.ts';
import { requireTemplateState } from './templates/find-template.ts';
import { parseRegistryCredentials } from './templates/registry-credentials.ts';

type Body = components['schemas']['BuildStart'];
type Stage = components['schemas']['BuildStage'];
type Registry = components['schemas']['ImageRegistry'];

const BASE = 'base';

/**
 * Parses the body of a build's start, whose shape was checked against the document. Rejects with `invalid_argument`,
 * naming the field, also for one that requests a feature that this server lacks, and with `not_found` for an unknown
 * template.
 */
export const parseBuildStart = async (body: Body, store: Store): Promise<BuildPlan> => {
  requirePlatform(body.platform);
  const stages: StagePlan[] = [];
  const { force } = body;
  for (const [index, stage] of (body.stages ?? []).entries())
    stages.push(await parseStage(stage, { store, stages, force, field: `body.stages[${index}]` }));
  const final = await parseStage(body as Stage, { store, stages, force, field: 'body' });
  const stepCount = final.stepsBefore + final.steps.length;
  if (stepCount > MAX_STEPS)
    throw invalid(
      `body.steps: a build has at most ${MAX_STEPS} steps in all of its stages, not ${stepCount}`,
    );
  return { ...final, stages, ...parseStart(body) };
};

const requirePlatform = (platform: string | undefined): void => {
  const own = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  if (platform === undefined || platform === own) return;
  throw invalid(`body.platform: this server builds for ${own}, and the steps were written for ${platform}`);
};

/** The server keeps the variables of each while the build runs. */
const MAX_STEPS = 1_000;

interface StageContext {
  store: Store;
  stages: readonly StagePlan[];
  field: string;
}

const parseStage = async (
  stage: Stage,
  { force = false, ...context }: StageContext & { force: boolean | undefined },
): Promise<StagePlan> => {
  const { stages, field } = context;
  const { steps = [], imageConfig = false } = stage;
  const stepsBefore = stages.reduce((count, before) => count + before.steps.length, 0);
  const forcedStep = stages.at(-1)?.forcedStep ?? findForced(steps, stepsBefore);
  return {
    source: await parseSource(stage, context),
    steps: steps.map((step, index) => parseBuildStep(step, `${field}.steps[${index}]`, stages.length)),
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
}: Body): Omit<BuildPlan, keyof StagePlan | 'stages'> => {
  const startCmd = parseCommand(body.startCmd, 'body.startCmd');
  const readyCmd = parseCommand(body.readyCmd, 'body.readyCmd');
  const both = (field: string, other: string) => invalid(`body.${field} does not go with body.${other}`);
  if (startCmd !== undefined && (entrypoint ?? command) !== undefined)
    throw both(entrypoint ? 'entrypoint' : 'command', 'startCmd');
  if (readyCmd !== undefined && healthcheck !== undefined) throw both('healthcheck', 'readyCmd');
  for (const [field, words] of Object.entries({ entrypoint, command, healthcheck }))
    if (words?.some((word) => word.includes('\0'))) throw invalid(`body.${field} must not contain NUL`);
  return { startCmd, readyCmd, entrypoint, command, healthcheck, exposedPorts };
};

/** Its number in the build. */
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
const parseCommand = (text: string | undefined, field: string): string | undefined => {
  if (text?.includes('\0')) throw invalid(`${field} must not contain NUL`);
  return text === '' ? undefined : text;
};

const parseSource = async (stage: Stage, { store, stages, field }: StageContext): Promise<BuildSource> => {
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
    const credentials =
      fromImageRegistry && parseRegistryCredentials(fromImageRegistry, `${field}.fromImageRegistry`);
    return { kind: 'image', reference: fromImage, credentials };
  }
  if (fromImageRegistry !== undefined)
    throw invalid(
      `${field}.fromImageRegistry is for an image that is pulled, and this build begins with ${fromStage === undefined ? 'a template' : 'a stage'}`,
    );
  if (fromStage !== undefined) {
    if (fromStage < stages.length) return { kind: 'stage', index: fromStage };
    throw invalid(`${field}.fromStage: there is no stage ${fromStage} before`);
  }
  const name = fromTemplate ?? BASE;
  const { build, snapshot } = await requireTemplateState(store, name, `${field}.fromTemplate`);
  return snapshot === null ? { kind: 'template', name, build } : { kind: 'snapshot', name, snapshot };
};
