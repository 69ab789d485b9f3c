import { createTurns } from '@skerry/contract/turns';
import { type BuildPlan, type BuildSource, listStages, type StagePlan } from './build-plan.ts';
import type { StageFiles } from './stage-base.ts';

/** How many stages of a build have a sandbox at a time. */
const MAX_CONCURRENT = 2;

export interface StageWork {
  /** What a stage begins with that does not continue another. */
  makeBase(
    stage: StagePlan,
    options: { source: Exclude<BuildSource, { kind: 'stage' }>; signal: AbortSignal },
  ): Promise<StageFiles>;
  /** Runs the steps of a stage on its base. All stages that they need are in `stages`. */
  runSteps(
    stage: StagePlan,
    options: { base: StageFiles; stages: ReadonlyMap<number, StageFiles>; signal: AbortSignal },
  ): Promise<StageFiles>;
}

/**
 * Runs the stages of a build and then the build itself, which is the last; each as soon as those that it needs are ready,
 * a few at a time. Resolves with the last. The first that fails ends the others. Rejects with that failure, or the reason of
 * `signal`, when none runs any more.
 */
export const runStages = async (
  plan: BuildPlan,
  work: StageWork,
  options: { signal: AbortSignal },
): Promise<StageFiles> => {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const turns = createTurns(MAX_CONCURRENT);
  const done = new Map<number, StageFiles>();
  const running: Promise<StageFiles>[] = [];

  const runStage = async (stage: StagePlan, isLast: boolean): Promise<StageFiles> => {
    const { source, steps } = stage;
    const base =
      source.kind === 'stage'
        ? await (running[source.index] as Promise<StageFiles>)
        : await work.makeBase(stage, { source, signal });
    await Promise.all(stage.steps.flatMap(listStages).map((index) => running[index] as Promise<StageFiles>));
    // Only the template has to be a file of its own.
    if (steps.length === 0 && (base.made !== undefined || !isLast)) return base;
    return turns.take(() => work.runSteps(stage, { base, stages: done, signal }), signal);
  };

  for (const [index, stage] of [...plan.stages, plan].entries()) {
    const result = runStage(stage, stage === plan).then((files) => {
      done.set(index, files);
      return files;
    });
    result.catch((error: unknown) => failed.abort(error));
    running.push(result);
  }
  await Promise.allSettled(running);
  options.signal.throwIfAborted();
  failed.signal.throwIfAborted();
  return done.get(plan.stages.length) as StageFiles;
};
