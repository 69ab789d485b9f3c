import type { CacheEntry } from '../store/cache/cache-rows.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildStep, StagePlan } from './build-plan.ts';
import { describeStep } from './describe-step.ts';

/** Whether the result of a step is kept. The others change little or nothing, and take less time than a capture: they run again. */
export const changesFiles = (step: BuildStep | undefined): boolean =>
  step?.type === 'RUN' || step?.type === 'COPY';

/** Writes what becomes of the steps of a stage. Numbers of steps count in the stage, from 1. */
export interface StageLog {
  /** The first steps are those of a result. */
  addTaken(count: number, result: Pick<CacheEntry, 'key' | 'createdAt'>): void;
  /** A step begins, whose result has that key. */
  addStep(number: number, key: string): void;
  /** The result of a step could not be kept. */
  addNotKept(number: number, problem: string): void;
}

/** `first` is how many steps do not run. */
export const createStageLog = (stage: StagePlan, first: number, log: BuildLog): StageLog => {
  const { steps, stepsBefore } = stage;
  const toName = (number: number): string => String(stepsBefore + number);
  return {
    addTaken: (count, { key, createdAt }) => {
      for (const [index, step] of steps.slice(0, count).entries()) {
        const name = toName(index + 1);
        log.add({ level: 'info', message: `CACHED step ${name}: ${describeStep(step)}`, step: name });
      }
      if (count === 0) return;
      const since = new Date(createdAt).toISOString();
      const message = `taken: the base, the steps to here and their files are those of the result ${key} of ${since}`;
      log.add({ level: 'debug', message, step: toName(count) });
    },
    addStep: (number, key) => {
      const name = toName(number);
      const step = steps[number - 1] as BuildStep;
      log.add({ level: 'info', message: `step ${name}: ${describeStep(step)}`, step: name });
      if (number < steps.length && !changesFiles(step)) return;
      const reason = toReason(stage, { first, number });
      log.add({ level: 'debug', message: `not CACHED ${key}: ${reason}`, step: name });
    },
    addNotKept: (number, problem) =>
      log.add({ level: 'info', message: `not kept: ${problem}`, step: toName(number) }),
  };
};

/** Why a step runs. */
const toReason = (
  { steps, stepsBefore, cacheableSteps, forcedStep }: StagePlan,
  { first, number }: { first: number; number: number },
): string => {
  if (cacheableSteps === null) return 'the build is forced';
  if (number > cacheableSteps)
    return `${forcedStep === stepsBefore + number ? 'the step' : `step ${forcedStep}`} is forced`;
  const changed = steps.findIndex((step, index) => index >= first && changesFiles(step)) + 1;
  if (changed === 0 || number <= changed)
    return 'no result of it; the step, its files or what is before it has changed, or the result was removed';
  return `step ${stepsBefore + changed} runs before it`;
};
