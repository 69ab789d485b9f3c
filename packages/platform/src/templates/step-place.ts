import { posix } from 'node:path';
import { BuildError } from './build-error.ts';
import type { BuildStep } from './build-plan.ts';

/** Where the next step runs. */
export interface Place {
  user: string;
  workdir: string;
  /** What a start command gets, too. */
  env: Record<string, string>;
  /** For steps alone. */
  buildArgs: Record<string, string>;
}

/** A step and where it runs. */
export interface PlacedStep {
  step: BuildStep;
  place: Place;
  /** Its number in the build, from 1. */
  number: number;
  /** Whether the folder of that place may be missing, as an image may name one that it does not have. */
  makesWorkdir: boolean;
}

/** The variables of a step: those of `ENV` hide build arguments. */
export const toStepEnv = ({ env, buildArgs }: Pick<Place, 'env' | 'buildArgs'>): Record<string, string> => ({
  ...buildArgs,
  ...env,
});

/** Where the first step runs, with the variables of the image. */
export const toFirstPlace = (env: Record<string, string>): Place => ({
  user: 'user',
  workdir: '/home/user',
  env,
  buildArgs: {},
});

/** Where the step after this one runs, when this one succeeds at that place. */
export const toNextPlace = (step: BuildStep, place: Place): Place => {
  switch (step.type) {
    case 'ENV':
      return { ...place, env: setVariables(place.env, step, (env) => toStepEnv({ ...place, env })) };
    case 'ARG': {
      const toKnown = (buildArgs: Place['buildArgs']) => toStepEnv({ ...place, buildArgs });
      return { ...place, buildArgs: setVariables(place.buildArgs, step, toKnown) };
    }
    case 'WORKDIR':
      return { ...place, workdir: posix.resolve(place.workdir, expand(step.path, toStepEnv(place))) };
    case 'USER':
      return { ...place, user: step.name };
    case 'RUN':
    case 'COPY':
      return place;
  }
};

/** The longest text that a step makes of variables, and the most that the variables of a place take together. */
const MAX_LENGTH = 128 * 1024;

class TooLongError extends Error {}

/** What `work` returns; a text that becomes too long is the fault of the step of that name: throws `BuildError`. */
export const ofStep = <T>(name: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TooLongError)) throw error;
    throw new BuildError(name, error.message, { cause: error });
  }
};

/** `toKnown` returns the variables that a value may name. */
const setVariables = (
  before: Record<string, string>,
  { variables }: Extract<BuildStep, { type: 'ENV' | 'ARG' }>,
  toKnown: (next: Record<string, string>) => Record<string, string>,
): Record<string, string> => {
  let next = before;
  // A definition, as an assignment to "__proto__" would be lost.
  for (const [name, value] of variables)
    next = Object.fromEntries([...Object.entries(next), [name, expand(value, toKnown(next))]]);
  if (Object.entries(next).flat().join('').length > MAX_LENGTH)
    throw new TooLongError(`the variables take more than ${MAX_LENGTH / 1024} KiB together`);
  return next;
};

/** `$NAME` and `${NAME}` become values, empty when unset. Nothing is run. Call it within `ofStep`. */
export const expand = (text: string, env: Record<string, string>): string => {
  let { length } = text;
  return text.replace(
    /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g,
    (whole, braced?: string, plain?: string) => {
      const name = braced ?? plain ?? '';
      const value = Object.hasOwn(env, name) ? (env[name] ?? '') : '';
      length += value.length - whole.length;
      if (length > MAX_LENGTH)
        throw new TooLongError(`with its variables the text takes more than ${MAX_LENGTH / 1024} KiB`);
      return value;
    },
  );
};
