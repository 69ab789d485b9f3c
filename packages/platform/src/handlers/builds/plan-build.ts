import { invalid } from '@skerry/contract/error';
import type { BuildPlan } from '../../templates/build-plan.ts';
import { BuildProblem, toBodyPath } from './build-problem.ts';
import { type BuildBody, parseBuild } from './parse-build.ts';
import { type BuildResources, resolveBuild } from './resolve-build.ts';

/**
 * Parses the body of a build's start and finds what its names mean. Rejects with `invalid_argument`, naming the field, also for one that
 * requests a feature that this server lacks, with `not_found` for an unknown template, and with `unimplemented` where templates cannot be
 * built.
 */
export const planBuild = async (body: BuildBody, resources: BuildResources): Promise<BuildPlan> => {
  try {
    return await resolveBuild(parseBuild(body), resources);
  } catch (error) {
    if (!(error instanceof BuildProblem)) throw error;
    throw invalid(`${toBodyPath(error)} ${error.message}`, { cause: error });
  }
};
