/** A position in a build: a stage before the last one, or none for the last, and a step of it, or none. Both count from 0. */
export interface BuildPosition {
  stage?: number | undefined;
  step?: number | undefined;
}

/** Why a build cannot start. The message says what the field must be, and has no name of it. */
export class BuildProblem extends Error {
  /** The path in the stage or the step, as the body has it. */
  readonly field: string;
  readonly stage: number | undefined;
  readonly step: number | undefined;

  constructor(
    message: string,
    { field, stage, step, cause }: BuildPosition & { field: string; cause?: unknown },
  ) {
    super(message, { cause });
    this.field = field;
    this.stage = stage;
    this.step = step;
  }
}

/** Creates the problem of a field, at a known position. */
export type ToProblem = (field: string, message: string, cause?: unknown) => BuildProblem;

export const problemsAt =
  (position: BuildPosition): ToProblem =>
  (field, message, cause) =>
    new BuildProblem(message, { ...position, field, cause });

/** The path of a field in the body of a build's start. */
export const toBodyPath = ({ stage, step, field }: BuildPosition & { field: string }): string =>
  [
    'body',
    ...(stage === undefined ? [] : [`stages[${stage}]`]),
    ...(step === undefined ? [] : [`steps[${step}]`]),
    field,
  ].join('.');
