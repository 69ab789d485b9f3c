import { posix } from 'node:path';
import type { BuildStep } from './build-plan.ts';

/** Where the next step runs. */
export interface Place {
  user: string;
  workdir: string;
  env: Record<string, string>;
}

/** Where the first step runs, with the variables of the image. */
export const toFirstPlace = (env: Record<string, string>): Place => ({
  user: 'user',
  workdir: '/home/user',
  env,
});

/** Where the step after this one runs, when this one succeeds at that place. */
export const toNextPlace = (step: BuildStep, place: Place): Place => {
  switch (step.type) {
    case 'ENV':
      return { ...place, env: setVariables(place.env, step.variables) };
    case 'WORKDIR':
      return { ...place, workdir: posix.resolve(place.workdir, expand(step.path, place.env)) };
    case 'USER':
      return { ...place, user: step.name };
    case 'RUN':
    case 'COPY':
      return place;
  }
};

const setVariables = (
  env: Record<string, string>,
  variables: readonly (readonly [string, string])[],
): Record<string, string> => {
  let next = env;
  // A definition, as an assignment to "__proto__" would be lost.
  for (const [name, value] of variables)
    next = Object.fromEntries([...Object.entries(next), [name, expand(value, next)]]);
  return next;
};

/** `$NAME` and `${NAME}` become values, empty when unset. Nothing is run. */
export const expand = (text: string, env: Record<string, string>): string =>
  text.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced?: string, plain?: string) => {
    const name = braced ?? plain ?? '';
    return Object.hasOwn(env, name) ? (env[name] ?? '') : '';
  });
