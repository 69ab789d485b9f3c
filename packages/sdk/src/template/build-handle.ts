import { SandboxError } from '../errors.ts';
import type { LogLevel } from '../sandbox/sandbox-logs.ts';

/** A line of the log of a build. */
export interface BuildProgress {
  /** `base` for what the build begins with, `finalize` for its end, or the number of the step from 1. */
  step: string | undefined;
  level: LogLevel;
  message: string;
  time: Date;
}

export interface BuildResult {
  templateId: string;
  buildId: string;
  /** The value for `template` of `Sandbox.create`, to which `:` and a tag may be added. */
  name: string;
  /** The tags that now point to this build. */
  tags: string[];
}

/** Thrown when a build has failed. Its code is `build_failed`. */
export class TemplateBuildError extends SandboxError {
  override readonly name: string = 'TemplateBuildError';
  readonly templateId: string;
  readonly buildId: string;
  /** `step` of `BuildProgress`. */
  readonly step: string | undefined;
  /** The line of the Dockerfile with that step, from 1. */
  readonly line: number | undefined;
  /** The last lines of the log, the oldest first. At most 20. */
  readonly lastLines: BuildProgress[];

  /** @internal */
  constructor(
    message: string,
    build: Pick<TemplateBuildError, 'templateId' | 'buildId' | 'step' | 'line' | 'lastLines'>,
  ) {
    super('build_failed', message);
    this.templateId = build.templateId;
    this.buildId = build.buildId;
    this.step = build.step;
    this.line = build.line;
    this.lastLines = build.lastLines;
  }
}

/**
 * A build that runs. Iterate over its progress, which ends with the build and throws when that fails. Lines are kept until they
 * are read; the service ends a log after 20,000 of them.
 */
export class TemplateBuild implements AsyncIterable<BuildProgress> {
  readonly #unread: BuildProgress[] = [];
  readonly #result: Promise<BuildResult>;
  #isDone = false;
  readonly #waiting = new Set<() => void>();

  readonly #cancel: () => Promise<void>;

  /** @internal */
  constructor(
    run: (onProgress: (entry: BuildProgress) => void) => Promise<BuildResult>,
    cancel: () => Promise<void>,
  ) {
    this.#cancel = cancel;
    this.#result = run((entry) => {
      this.#unread.push(entry);
      this.#wake();
    }).finally(() => {
      this.#isDone = true;
      this.#wake();
    });
    // Thrown again by `result` and by the iterator.
    this.#result.catch(() => {});
  }

  /**
   * Resolves when the template is ready. Rejects with `TemplateBuildError` when the build fails, with `canceled` when the signal
   * aborts, and with any other `SandboxError` of a request. No iteration is needed.
   */
  result(): Promise<BuildResult> {
    return this.#result;
  }

  /**
   * Ends the build: `result` rejects with `canceled`. Resolves when nothing of it runs on the server any more; a build that has ended
   * stays as it is.
   */
  cancel(): Promise<void> {
    return this.#cancel();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BuildProgress, void, undefined> {
    for (;;) {
      // One by one: an iteration that ends early leaves the rest to the next.
      for (let line = this.#unread.shift(); line; line = this.#unread.shift()) yield line;
      if (this.#isDone) break;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    await this.#result;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
