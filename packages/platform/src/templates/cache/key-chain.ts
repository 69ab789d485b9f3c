import { createHmac } from 'node:crypto';
import { type BuildStep, listStages } from '../build-plan.ts';
import { ofStep, type StepPosition, toNextPosition } from '../step-position.ts';

/** The state between two steps of a build: before the first one, and after each. */
export interface ChainPoint {
  /** Under which its files are kept: equal for equal work. 32 hex digits. */
  key: string;
  /** Where the next step runs. */
  position: StepPosition;
}

/** What the keys of a build depend on beside its steps. */
export interface ChainBase {
  /** The digest of the image, or what else shows that it is another one. */
  image: string;
  /** Where the first step runs. */
  position: StepPosition;
  /** The level at which the steps run. */
  level: string;
  /** The disk on which they run. */
  diskMb: number;
}

/** The images of the stages from which steps copy, by the numbers of the stages: as `image` of `ChainBase`. */
export type StageImages = ReadonlyMap<number, { identity: string }>;

/** Raise it when a step of the same words does something else. */
const VERSION = 4;
const KEY_LENGTH = 32;

/** A key of the cache. Only the owner of the secret can find the value of a variable again by trying. */
export const toCacheKey = (secret: string, content: readonly unknown[]): string =>
  createHmac('sha256', secret)
    .update(`build-cache:${JSON.stringify(content)}`)
    .digest('hex')
    .slice(0, KEY_LENGTH);

/** The secret for the keys of a project, whose builds use no results of other projects, nor learn of them. */
export const toProjectSecret = (secret: string, project: string): string =>
  createHmac('sha256', secret).update(`build-cache of ${project}`).digest('hex');

const sortEnv = (env: Record<string, string>): [string, string][] =>
  Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1));

/** The number of a stage differs between builds, so the key contains the image of the stage instead. */
const toKeyed = (step: BuildStep, stages: StageImages): unknown => {
  const images = listStages(step).map((index) => {
    const stage = stages.get(index);
    if (stage === undefined) throw new Error(`stage ${index} has not been made`);
    return stage.identity;
  });
  return images.length === 0 ? step : [JSON.parse(JSON.stringify(step, withoutIndex)), images];
};

const withoutIndex = (key: string, value: unknown): unknown => (key === 'index' ? undefined : value);

/**
 * The states of a build, one more than its steps. Each key covers the base, all steps before it with their
 * arguments, the hashes of their files and the images of the stages that they copy from, and user, folder and variables at that position.
 * Throws `BuildError` of a step whose variables become too long.
 */
export const toKeyChain = (
  steps: readonly BuildStep[],
  options: { base: ChainBase; stages: StageImages; stepsBefore: number; secret: string },
): ChainPoint[] => {
  const { base, stages, stepsBefore, secret } = options;
  let { position } = base;
  let key = toCacheKey(secret, ['base', VERSION, base.image, sortEnv(position.env), base.level, base.diskMb]);
  const points = [{ key, position }];
  for (const [index, step] of steps.entries()) {
    const { user, workdir, env, buildArgs } = position;
    key = toCacheKey(secret, [
      'step',
      key,
      toKeyed(step, stages),
      user,
      workdir,
      sortEnv(env),
      sortEnv(buildArgs),
    ]);
    const before = position;
    position = ofStep(String(stepsBefore + index + 1), () => toNextPosition(step, before));
    points.push({ key, position });
  }
  return points;
};
