/** A build failed for a reason that its owner can change. The message is for the owner. */
export class BuildError extends Error {
  /** `base`, `finalize`, or the number of the step from 1. */
  readonly step: string;

  constructor(step: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'BuildError';
    this.step = step;
  }
}
